import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { folderForFile } from '../testing/temporary-folder.ts'
import { createHome } from './program-under-test.ts'

/** Runs the scripts in the real shells. For zsh, a function replaces `compadd` and prints the candidates. */

const main = new URL('../../bin/parley.js', import.meta.url).pathname
const bin = folderForFile()
const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

beforeAll(async () => {
  const program = `#!/bin/sh\nexec '${process.execPath}' --conditions=source '${main}' "$@"\n`
  writeFileSync(join(bin, 'parley'), program, { mode: 0o755 })
  await using home = createHome()
  for (const shell of shells) writeFileSync(join(bin, shell), (await home.run(['completions', shell])).stdout)
})

/** The candidates for the last of the words. */
function complete(shell: Shell, words: readonly string[], home = bin): string[] {
  const line = ['parley', ...words]
  const quoted = line.map((word) => `'${word}'`).join(' ')
  const script = {
    bash: `source '${bin}/bash'; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _parley; printf '%s\\n' "\${COMPREPLY[@]}"`,
    zsh: `compdef() { :; }; _files() { print -r -- "(files $*)"; }
      compadd() { while [[ "$1" == -* ]]; do [[ "$1" == -d ]] && shift; [[ "$1" == -- ]] && { shift; break; }; shift; done
        for word; do [[ "$word" == "\${words[CURRENT]}"* ]] && print -r -- "$word"; done; true }
      source '${bin}/zsh'; words=(${quoted}); CURRENT=${line.length}; PREFIX="\${words[CURRENT]}"; _parley`,
    fish: `source '${bin}/fish'; complete -C '${line.join(' ')}'`,
  }[shell]
  const env = { HOME: home, PATH: `${bin}:${process.env.PATH}`, TERM: 'xterm' }
  const arguments_ = { bash: ['--norc', '-c'], zsh: ['-f', '-c'], fish: ['--no-config', '-c'] }[shell]
  const output = execFileSync(shell, [...arguments_, script], { encoding: 'utf8', cwd: bin, env })
  return output.split('\n').flatMap((one) => (one === '' ? [] : [one.replace(/\t.*/, '')]))
}

it('completions without a shell name the shells', async () => {
  await using home = createHome()
  const { exitCode, stderr } = await home.run(['completions'])
  expect([exitCode, stderr]).toEqual([2, 'parley: Give a shell: bash, zsh, fish.\n'])
})

it('fish reads the script without an error', () => {
  const { stderr } = spawnSync('fish', ['--no-config', join(bin, 'fish')], { encoding: 'utf8' })
  expect(stderr).toBe('')
})

describe.each(shells)('completions in %s', (shell) => {
  it('offer commands, subcommands, options, and the words that an argument accepts', () => {
    expect(complete(shell, ['sess'])).toEqual(['sessions'])
    expect(complete(shell, ['rules', 'a'])).toEqual(['add'])
    expect(complete(shell, ['run', 'demo', '--on'])).toEqual(['--on-permission'])
    expect(complete(shell, ['sessions', '--wai'])).toEqual(['--waiting'])
    expect(complete(shell, ['run', '--mode', 're'])).toEqual(['read-only'])
    expect(complete(shell, ['rules', 'add', 'de'])).toEqual(['deny'])
    expect(complete(shell, ['completions', 'fi'])).toEqual(['fish'])
    expect(complete(shell, ['service', 'un'])).toEqual(['uninstall'])
  })

  it('offer sessions and agents of the running server, and none without a server', async () => {
    await using home = createHome()
    expect(complete(shell, ['show', ''], home.folder)).toEqual([])
    const { url, token } = await home.serve()
    using client = createClient({ url, token })
    mkdirSync(join(home.folder, 'x'))
    const hostile = '$(touch hacked) `touch hacked` \u001b[31m; touch hacked'
    const { id } = await client.createSession({ agent: 'demo', cwd: home.folder, title: hostile })
    for (const words of [
      ['show', ''],
      ['run', 'demo', 'text', '--session', ''],
      ['attach', '--tail', '5', ''],
    ])
      expect(complete(shell, words, home.folder).sort(), words.join(' ')).toEqual(['last', id].sort())
    expect(complete(shell, ['show', id.slice(0, 8)], home.folder)).toEqual([id])
    expect(complete(shell, ['run', 'dem'], home.folder)).toEqual(['demo'])
    expect(complete(shell, ['agents', 'install', 'codex', 'gem'], home.folder)).toEqual(['gemini'])
    const elsewhere = ['--data-dir', join(home.folder, '.parley')]
    expect(complete(shell, ['show', ...elsewhere, id.slice(0, 8)], bin)).toEqual([id])
    expect(() => execFileSync('ls', [join(bin, 'hacked')], { stdio: 'pipe' })).toThrow()
  })
})

it('the values for a script are tab-separated, with control characters made visible', async () => {
  await using home = createHome()
  const { url, token } = await home.serve()
  using client = createClient({ url, token })
  const { id } = await client.createSession({ agent: 'demo', cwd: home.folder, title: 'A\ttitle\u001b[31m' })
  const { stdout, exitCode } = await home.run(['completions', '--values', 'session'])
  expect(exitCode).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.split('\t').length)).toEqual([2, 2])
  expect(lines[1]).toMatch(new RegExp(`^${id}\\tA title`))
  expect(stdout).not.toContain('\u001b')
})

it('completions exist for three shells, and the former name of the command still works', async () => {
  await using home = createHome()
  expect(await home.run(['completions', 'tcsh'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('not "tcsh"'),
  })
  expect(await home.run(['completions'])).toMatchObject({ exitCode: 2 })
  expect((await home.run(['completion', 'bash'])).stdout).toBe(
    (await home.run(['completions', 'bash'])).stdout,
  )
})
