import { expect, it } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { createHome, type Home, type StartOptions } from './program-under-test.ts'

/** Tests the errors of commands when the server runs but cannot serve them. */

const token = 'the-token-of-all-nodes-0123456789'

async function outputs(home: Home, options: StartOptions) {
  const commands = [['nodes'], ['sessions'], ['run', 'demo', 'help'], ['token', '--link'], ['doctor']]
  const said: [string, string][] = []
  for (const args of commands) {
    const { exitCode, stdout, stderr } = await home.run(args, options)
    expect(exitCode).toBe(1)
    said.push([args.join(' '), stdout + stderr])
  }
  return said
}

it('while PostgreSQL is down, commands say that the server runs and does not reach its database', async () => {
  await using postgres = await PostgresServer.open()
  await using home = createHome()
  const options = { env: { PARLEY_DATABASE_URL: await postgres.database(), PARLEY_TOKEN: token } }
  const { pid, url } = await home.serve([], options)
  await postgres.stop('SIGQUIT')
  for (const [command, text] of await outputs(home, options)) {
    expect([command, text]).toEqual([command, expect.stringContaining(`runs (pid ${pid}, ${url})`)])
    expect([command, text]).toEqual([command, expect.stringContaining('Check that PostgreSQL runs')])
    expect([command, text]).not.toEqual([command, expect.stringMatching(/start one|stop it|no server runs/i)])
  }
})

it('commands say that a paused server does not answer, and do not advise starting another one', async () => {
  await using postgres = await PostgresServer.open()
  await using home = createHome()
  const options = { env: { PARLEY_DATABASE_URL: await postgres.database(), PARLEY_TOKEN: token } }
  const { pid, url, running } = await home.serve([], options)
  running.child.kill('SIGSTOP')
  for (const [command, text] of await outputs(home, options)) {
    expect([command, text]).toEqual([command, expect.stringContaining(`(pid ${pid}, ${url})`)])
    expect([command, text]).toEqual([command, expect.stringContaining('wait, and try again')])
    expect([command, text]).not.toEqual([command, expect.stringMatching(/start one|stop it|no server/i)])
  }
})
