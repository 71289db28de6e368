import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import { projectIdOf, type Round } from '@parley/protocol'
import { expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

it('a round is made, checked, listed, shown and picked on the command line', async () => {
  await using home = createHome()
  const { url, token } = await home.serve()
  using client = createClient({ url, token })
  const repository = join(realpathSync(home.folder), 'repository')
  mkdirSync(repository)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], { cwd: repository })
  git('init', '-q')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  await client.createSession({ agent: 'demo', cwd: repository })
  const id = projectIdOf({ project: join(repository, '.git') })
  await client.call('patchProject', { params: { id }, body: { check: 'echo looks fine' } })

  const asked = [
    'round',
    'help',
    '--cwd',
    repository,
    '--agents',
    'demo,demo',
    '--trust',
    '--check',
    '--json',
  ]
  const made = await home.run(asked)
  expect(made).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 demo: done') })
  const round = JSON.parse(made.stdout) as Round
  expect(round.attempts).toMatchObject([
    { state: 'done', check: { exitCode: 0, tail: 'looks fine\n' }, changes: { files: 0 } },
    { state: 'done', check: { exitCode: 0, tail: 'looks fine\n' }, changes: { files: 0 } },
  ])

  expect(await home.run(['rounds'])).toMatchObject({ stdout: expect.stringContaining('2 demo done') })
  const shown = await home.run(['rounds', 'show', 'last'])
  expect(shown.stdout).toMatch(/#\s+AGENT[\s\S]*1\s+demo[\s\S]*passed[\s\S]*not reported/)
  const wrong = await home.run(['rounds', 'pick', round.id, '3'])
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('the attempts 1, 2, not "3"') })
  const picked = await home.run(['rounds', 'pick', round.id.slice(0, 12), '2', '--json'])
  expect(JSON.parse(picked.stdout)).toMatchObject({
    picked: 2,
    attempts: [{ worktree: { phase: 'removed' } }, { worktree: { phase: 'ready' } }],
  })

  const session = round.attempts[1]?.sessionId ?? ''
  expect(await home.run(['check', session])).toMatchObject({ exitCode: 0, stdout: 'looks fine\n' })
  await client.call('patchProject', { params: { id }, body: { check: 'echo broken; exit 4' } })
  const failed = await home.run(['check', session, '--json'])
  expect(failed.exitCode).toBe(1)
  expect(JSON.parse(failed.stdout)).toMatchObject({ sessionId: session, exitCode: 4, tail: 'broken\n' })
  const few = await home.run(['round', 'help', '--agents', 'demo'])
  expect(few).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('two to five agents') })
})
