import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

const choose = /Your choice, 1 to \d: /

/** Shows a request at a terminal. Returns the URL and headers with which another client can answer it. */
async function askedAtServer(home: ReturnType<typeof createHome>) {
  const { url, token } = await home.serve()
  const running = home.onTerminal(['run', 'demo', 'show a permission'])
  await running.until(choose)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return { url, headers, running }
}

describe('a person at the terminal', () => {
  it('allows a call', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'show a permission'])
    await running.until(choose)
    running.type('what?\r')
    await running.until('Type a number from 1 to 5, or y or n.')
    running.type('1\r')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('why: It deletes files.')
    expect(stdout).toContain('Thank you.')
    expect(exitCode).toBe(0)
  })

  it('denies with a reason', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'show a permission'])
    await running.until(choose)
    running.type('3 still in use\r')
    const { stdout } = await running.ended
    expect(stdout).toContain('still in use)')
    expect(stdout).toContain('As you wish')
  })

  it('answers questions by number and with free text', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'ask me something'])
    await running.until('or your own words: ')
    running.type('a spreadsheet\r')
    await running.until('numbers such as 1,3')
    running.type('1,3\r')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('Database: a spreadsheet; Extras: Tests, Continuous integration.')
    expect(stdout).toMatch(/answered.* Database: a spreadsheet; Extras: Tests, Continuous integration/)
    expect(exitCode).toBe(0)
  })

  it('still answers questions when a flag allows permissions', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'ask me something', '--on-permission', 'allow'])
    await running.until('or your own words: ')
    running.type('1\r')
    await running.until('numbers such as 1,3')
    running.type('1\r')
    expect((await running.ended).exitCode).toBe(0)
  })

  it('does not allow a call with keys typed before the request was shown', async () => {
    await using home = createHome()
    await home.serve()
    const first = home.start(['run', 'demo', 'hang'])
    await first.until('until you stop me')
    const running = home.onTerminal(['run', 'demo', 'show a permission', '--session', 'last'])
    await running.until('queued: another turn runs first')
    running.type('1\r2\r1')
    await running.until(/1\r\n2\r\n1/)
    first.child.kill('SIGINT')
    await first.ended
    await home.run(['resume', 'last'])
    await running.until(choose)
    running.type('\r')
    await running.until('Type a number')
    running.type('n\r')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('As you wish')
    expect(stdout).not.toContain('allowed')
    expect(exitCode).toBe(0)
  })

  it('answers one request with one line, even if more lines were pasted', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'parallel'])
    await running.until(choose)
    running.type('n\r1\r1\r')
    await running.until(/(Your choice[\s\S]*){2}/)
    running.type('n\r')
    const { stdout } = await running.ended
    expect(stdout).not.toContain('allowed')
  })

  it('is asked again when the server was restarted', async () => {
    await using home = createHome()
    const { running: server, url } = await home.serve()
    const running = home.onTerminal(['run', 'demo', 'show a permission'])
    await running.until(choose)
    server.child.kill('SIGKILL')
    await running.until(/\n[^\n]*parley: the connection is lost; trying again…\r\n/)
    home.start(['serve', '--port', new URL(url).port, '--json'])
    await running.until(/connected again[\s\S]*why: It deletes[\s\S]*Your choice, 1 to 5: /)
    running.type('1\r')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('The server was restarted; the turn still waits for an answer.')
    expect(stdout).not.toContain('1 to 5: parley')
    expect(stdout.match(/allowed/g)).toHaveLength(1)
    expect(stdout).toContain('Thank you.')
    expect(exitCode).toBe(0)
  })

  it('approves a plan', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'make a plan'])
    await running.until(choose)
    running.type('y\r')
    const { stdout } = await running.ended
    expect(stdout).toContain('approve its plan')
    expect(stdout).toContain('Write a failing test')
    expect(stdout).toContain('Off we go.')
  })

  it('is no longer asked when another client has answered', async () => {
    await using home = createHome()
    const { url, headers, running } = await askedAtServer(home)
    const { requests } = (await (await fetch(`${url}/api/permissions`, { headers })).json()) as {
      requests: { session: { id: string }; request: { requestId: string } }[]
    }
    const [waiting] = requests
    const body = {
      commandId: 'from-elsewhere',
      type: 'permission.decide',
      requestId: waiting?.request.requestId,
      decision: 'allow',
    }
    const path = `${url}/api/sessions/${waiting?.session.id}/commands`
    await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('answered elsewhere')
    expect(stdout).toContain('Thank you.')
    expect(exitCode).toBe(0)
  })

  it('gets an error when a rule forbids the call that they allowed, and is asked again', async () => {
    await using home = createHome()
    const { url, headers, running } = await askedAtServer(home)
    const body = JSON.stringify({ tool: '*', match: { command: '*' }, decision: 'deny', scope: 'always' })
    expect((await fetch(`${url}/api/rules`, { method: 'POST', headers, body })).status).toBe(201)
    running.type('1\r')
    await running.until(/A rule refuses \w+ where command is[\s\S]*Your choice, 1 to \d: /)
    running.type('n\r')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('As you wish')
    expect(exitCode).toBe(0)
  })

  it('cancels the turn with Ctrl-C, even during a request', async () => {
    await using home = createHome()
    const running = home.onTerminal(['run', 'demo', 'show a permission'])
    await running.until(choose)
    running.type('\u0003')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('cancelled')
    expect(exitCode).toBe(130)
  })
})

describe('parley attach', () => {
  it('shows the conversation, sends prompts, answers requests, and detaches', async () => {
    await using home = createHome()
    await home.serve()
    await home.run(['run', 'demo', 'think', '--title', 'Thoughts'])
    const running = home.onTerminal(['attach', 'last'])
    await running.until('the second way is better.')
    await running.until('> ')
    running.type('show a permission\r')
    await running.until(choose)
    running.type('2\r')
    await running.until('Thank you.')
    running.type('\u0004')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('Thoughts · demo')
    expect(stdout).toContain('it continues on the server')
    expect(exitCode).toBe(0)
  })

  it('explains how to detach and how to stop a turn, and Ctrl-C does not stop the turn', async () => {
    await using home = createHome()
    await home.serve()
    const first = home.start(['run', 'demo', 'hang'])
    await first.until('until you stop me')
    const running = home.onTerminal(['attach', 'last'])
    const said = await running.until(
      /Ctrl-C or Ctrl-D leaves .* to stop the turn, run in another terminal: npm start -- cancel ses_\w+/,
    )
    await running.until('until you stop me')
    running.type('\u0003')
    const { stdout, exitCode } = await running.ended
    expect(stdout).toContain('it continues on the server')
    expect(exitCode).toBe(0)
    expect((await home.run(['show', 'last'])).stdout).toContain('Status: working')
    await home.run(['cancel', /cancel (ses_\w+)/.exec(said)?.[1] ?? ''])
    expect((await first.ended).exitCode).toBe(130)
  })

  it('without a server cancels the turn on exit, and keeps an open request', async () => {
    await using home = createHome()
    await home.run(['run', 'demo', 'think'])
    const leaveAfter = async (prompt: string, until: string | RegExp, key: string) => {
      const running = home.onTerminal(['attach', 'last'])
      await running.until('the session stops when you leave')
      running.type(`${prompt}\r`)
      await running.until(until)
      running.type(key)
      expect((await running.ended).exitCode).toBe(0)
      return (await home.run(['show', 'last'])).stdout
    }
    expect(await leaveAfter('hang', 'until you stop me', '\u0004')).toMatch(/cancelled · [\s\S]*Status: idle/)
    expect(await leaveAfter('show a permission', choose, '\u0003')).toContain('Waiting for you: permission')
  })

  it('hides a half-typed prompt while a request is shown', async () => {
    await using home = createHome()
    await home.serve()
    await home.run(['run', 'demo', 'think'])
    const running = home.onTerminal(['attach', 'last'])
    await running.until('> ')
    running.type('1')
    await running.until(/> .{0,4}1/)
    const other = home.start([
      'run',
      'demo',
      'show a permission',
      '--session',
      'last',
      '--on-permission',
      'ask',
    ])
    await running.until(choose)
    running.type('\r')
    await running.until('Type a number')
    running.type('n\r')
    await running.until(/completed[\s\S]*> 1/)
    expect((await other.ended).stdout).toContain('As you wish')
  })

  it('shows a request that was open before', async () => {
    await using home = createHome()
    await home.serve()
    const first = home.start(['run', 'demo', 'show a permission', '--on-permission', 'ask'])
    await first.until('waiting for an answer from another client')
    const running = home.onTerminal(['attach', 'last'])
    const shown = await running.until(choose)
    expect(stripVTControlCharacters(shown)).not.toContain('\n> ')
    running.type('1\r')
    await running.until(/completed[\s\S]*> /)
    const { exitCode, stdout } = await first.ended
    expect(stdout).toContain('Thank you.')
    expect(exitCode).toBe(0)
  })

  it('without a terminal shows open requests, and where to answer them', async () => {
    await using home = createHome()
    await home.serve()
    const first = home.start(['run', 'demo', 'show a permission', '--on-permission', 'ask'])
    await first.until('waiting for an answer from another client')
    const watching = home.start(['attach', 'last'])
    await watching.until('The agent asks for permission: execute')
    await watching.until('in a terminal: npm start -- attach ses_')
    const { stdout } = await home.run(['sessions', '--waiting'])
    expect(stdout).toContain('rm -rf build')
  })
})
