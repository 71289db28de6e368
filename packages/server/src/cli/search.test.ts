import { expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

it('search finds text in all sessions, with and without a running server', async () => {
  await using home = createHome()
  await home.run(['run', 'demo', 'help'])
  const alone = await home.run(['search', 'follow', 'a', 'scr', '--json'])
  const hits = alone.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(hits[0]).toMatchObject({
    kind: expect.any(String),
    session: { agent: 'demo' },
    seq: expect.any(Number),
  })
  await home.serve()
  await home.run(['run', 'demo', '--title', 'Second', 'an unusual \u001b[2J okapi'])
  const found = await home.run(['search', 'okap', '--in', 'prompt'])
  expect(found.stdout).toMatch(/^ses_\w+ {2}event \d+ {2}prompt {2}now {2}Second\n {2}an unusual .*okapi\n$/)
  expect(found.stdout).not.toContain('\u001b[2J')
  expect(await home.run(['search', 'no-such-word-anywhere'])).toMatchObject({
    exitCode: 0,
    stdout: '',
    stderr: 'Nothing was found.\n',
  })
})

it('search refuses unknown kinds and sessions', async () => {
  await using home = createHome()
  await home.run(['run', 'demo', 'help'])
  expect(await home.run(['search', 'x', '--in', 'prompts'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--in takes prompt, answer, call, output'),
  })
  expect(await home.run(['search', 'x', '--session', 'nope'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no session "nope"'),
  })
})
