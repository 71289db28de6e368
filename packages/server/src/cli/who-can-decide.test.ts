import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

/** Tests the messages of commands whose token may not decide, or has limits. */

/** A server, and the environment of commands that use a token without `decide`. */
async function withoutDecide(home: Home) {
  const { url } = await home.serve()
  const { stdout } = await home.run(['token', 'create', 'nightly', '--scope', 'read,prompt'])
  return { url, env: { PARLEY_TOKEN: stdout.trim() } }
}

const cannot = 'The token "nightly" cannot answer: it does not have the scope "decide".'
const permission = ['run', 'demo', 'show a permission']

it('without a terminal, run stops the turn at a request, and says who can answer and how to wait', async () => {
  await using home = createHome()
  const { url, env } = await withoutDecide(home)
  const { stderr, exitCode } = await home.run(permission, { env })
  expect(stderr).toContain('stopping the turn. With --on-permission ask, the turn waits for it.')
  expect(stderr).toContain(cannot)
  expect(stderr).toContain(`open this page in a browser that has it: ${url}/sessions/ses_`)
  expect(stderr).not.toContain('use --on-permission allow')
  expect(exitCode).toBe(130)
})

it('run refuses --on-permission allow before it creates a session', async () => {
  await using home = createHome()
  const { env } = await withoutDecide(home)
  const { stderr, exitCode } = await home.run([...permission, '--on-permission', 'allow'], { env })
  expect(stderr).toMatch(/^parley: --on-permission allow decides requests, and the token "nightly" cannot/)
  expect(exitCode).toBe(1)
  expect((await home.run(['sessions', '--json'])).stdout).toBe('')
})

it('on a terminal, run and attach show the request and where it can be answered, and wait', async () => {
  await using home = createHome()
  const { env } = await withoutDecide(home)
  const running = home.onTerminal(permission, { env })
  await running.until('The agent asks for permission')
  await running.until(cannot)
  const attached = home.onTerminal(['attach', 'last'], { env })
  const shown = await attached.until(cannot)
  expect(shown).not.toContain('Your choice')
  const answering = home.onTerminal(['attach', 'last'])
  await answering.until('Your choice')
  answering.type('1\r')
  const { stdout, exitCode } = await running.ended
  expect(stdout).toContain('Thank you.')
  expect(exitCode).toBe(0)
})

it('a command that covers more than the limits of its token says so', async () => {
  await using home = createHome()
  await home.serve()
  mkdirSync(join(home.folder, 'app'))
  const { stdout } = await home.run(['token', 'create', 'app only', '--scope', 'read', '--folder', 'app'])
  const { stderr } = await home.run(['rules'], { env: { PARLEY_TOKEN: stdout.trim() } })
  expect(stderr).toBe(
    'parley: This covers more than the folders to which "app only" is limited. Use a token or a browser without limits.\n',
  )
})
