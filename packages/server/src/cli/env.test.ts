import { expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

const secret = 'sk-parsley-0123456789'

it('parley env sets variables of a folder from stdin or from its own environment, lists names only, and removes them', async () => {
  await using home = createHome()
  const none = await home.run(['env'])
  expect(none).toMatchObject({ exitCode: 0, stdout: '', stderr: expect.stringContaining('No variables') })
  const set = await home.run(['env', 'API_KEY', '--folder', '.'], { input: `${secret}\n` })
  expect(set).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining(`Set API_KEY for ${home.folder}.`),
  })
  const inherited = await home.run(['env', 'REGION', '--inherit'], { env: { REGION: secret } })
  expect(inherited.exitCode).toBe(0)
  const listed = await home.run(['env', '--json'])
  expect(JSON.parse(listed.stdout)).toEqual({ folder: home.folder, names: ['API_KEY', 'REGION'] })
  const table = await home.run(['env'])
  expect(table.stdout).toMatch(/^FOR +VARIABLES\n\/\S+ +API_KEY REGION\n$/)
  const all = [none, set, inherited, listed, table].map(({ stdout, stderr }) => stdout + stderr)
  expect(all.join('')).not.toContain(secret)

  expect(await home.run(['env', 'API_KEY', '--remove'])).toMatchObject({ exitCode: 0 })
  expect(await home.run(['env', 'API_KEY', '--remove'])).toMatchObject({ exitCode: 1 })
  expect(JSON.parse((await home.run(['env', '--json'])).stdout).names).toEqual(['REGION'])
  expect(await home.run(['env', '--remove'])).toMatchObject({ exitCode: 0 })
  expect((await home.run(['env', '--json'])).stdout).toBe('')
})

it('parley env reads a value on a terminal without echo', async () => {
  await using home = createHome()
  const asking = home.onTerminal(['env', 'API_KEY'])
  await asking.until('Value of API_KEY')
  asking.type(`${secret}x\u007f\r`)
  const { stdout } = await asking.ended
  expect(stdout).toContain('Set API_KEY')
  expect(stdout).not.toContain('sk-')
})

it.each([
  [['env', 'PATH'], 'x', 'Parley itself depends on it'],
  [['env', 'A-B'], 'x', 'a variable name has only letters, digits and _'],
  [['env', 'A'], '', 'No value was given'],
  [['env', 'A', '--inherit'], '', 'A is not set in this environment'],
  [['env', 'A', '--folder', '.', '--session', 'last'], 'x', 'not both'],
])('refuses %j', async (args, input, words) => {
  await using home = createHome()
  expect(await home.run(args, { input })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(words),
  })
})

it('run --env gives a new session the named variables of its environment', async () => {
  await using home = createHome()
  const refused = await home.run(['run', 'demo', 'hello', '--env', 'API_KEY'])
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('API_KEY is not set') })
  const taken = await home.run(['run', 'demo', 'hello', '--env', 'API_KEY'], { env: { API_KEY: secret } })
  expect(taken).toMatchObject({
    exitCode: expect.any(Number),
    stderr: expect.stringContaining('does not support environment variables for a session'),
  })
})
