import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

/** A text whose control characters write to the clipboard, change colours, and reverse the reading direction. */
const attack = 'before \u001b]52;c;ZXZpbA==\u0007\u009b31m\u202e after'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters
const raw = /[\u001b\u0007\u009b\u202e]/

describe('parley export', () => {
  it("names the time zone of the session's start", async () => {
    await using home = createHome()
    await home.run(['run', 'demo', 'help'])
    const { createdAt } = JSON.parse((await home.run(['show', 'last', '--json'])).stdout) as {
      createdAt: number
    }
    const expected = `${new Date(createdAt + 5.5 * 3_600_000).toISOString().slice(0, 16).replace('T', ' ')} GMT+5:30`
    for (const format of ['markdown', 'html']) {
      const env = { TZ: 'Asia/Kolkata' }
      const { stdout } = await home.start(['export', 'last', '--as', format], { env }).ended
      expect(stdout).toContain('Started')
      expect(stdout).toContain(expected)
    }
  })

  it('says which folder is missing if the file cannot be written', async () => {
    await using home = createHome()
    await home.run(['run', 'demo', 'help'])
    const { exitCode, stderr } = await home.run(['export', 'last', '-o', 'missing/session.html'])
    const folder = join(home.folder, 'missing')
    expect([exitCode, stderr]).toEqual([
      2,
      `parley: ${folder}/session.html cannot be written: there is no folder ${folder}. Create it first.\n`,
    ])
  })

  it.each(['jsonl', 'markdown', 'html'])(
    'on a terminal shows control characters of an agent visibly, as %s; a pipe and a file get them unchanged',
    async (format) => {
      await using home = createHome()
      await home.run(['run', 'demo', '-'], { input: `help ${attack}` })
      const args = ['export', 'last', '--as', format]
      const { stdout } = await home.onTerminal(args).ended
      const screen = stdout.replaceAll('\r\n', '\n')
      expect(screen).toContain('before')
      expect(screen).not.toMatch(raw)
      const piped = (await home.run(args)).stdout
      expect(piped).toMatch(raw)
      await home.run([...args, '-o', 'file'])
      expect(readFileSync(join(home.folder, 'file'), 'utf8')).toBe(piped)
    },
  )
})
