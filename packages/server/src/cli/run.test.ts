import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

const sessionOf = (events: { sessionId: string }[]) => events[0]?.sessionId ?? ''

async function events(home: Home, args: string[]) {
  const { stdout, exitCode } = await home.run(['run', 'demo', ...args, '--json'])
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { lines, exitCode }
}

describe('parley cancel and parley resume', () => {
  it('pause the prompts that are queued behind the turn, and run them', async () => {
    await using home = createHome()
    await home.serve()
    const first = home.start(['run', 'demo', 'hang'])
    await first.until('until you stop me')
    const second = home.start(['run', 'demo', 'think', '--session', 'last'])
    await second.until('queued: another turn runs first')
    const { stderr } = await home.run(['cancel', 'last'])
    expect(stderr).toMatch(/1 queued prompt is paused\. Resume: npm start -- resume ses_/)
    expect((await first.ended).exitCode).toBe(130)
    await second.until(/this prompt is paused.* npm start -- resume ses_/)
    expect((await home.run(['sessions'])).stdout).toContain('idle, 1 paused')
    expect((await home.run(['show', 'last'])).stdout).toContain('Paused: think')
    expect((await home.run(['resume', 'last'])).stderr).toContain('Resumed 1 prompt of ses_')
    expect((await second.ended).exitCode).toBe(0)
    expect((await home.run(['resume', 'last'])).stderr).toContain('No prompt of ses_')
  })
})

describe('parley release', () => {
  it('ends the process of an idle agent, and refuses while a turn runs', async () => {
    await using home = createHome()
    await home.serve()
    const running = home.start(['run', 'demo', 'hang'])
    await running.until('until you stop me')
    const refused = await home.run(['release', 'last'])
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toMatch(/^parley: /)
    await home.run(['cancel', 'last'])
    await running.ended
    const { exitCode, stdout, stderr } = await home.run(['release', 'last'])
    expect([exitCode, stdout]).toEqual([0, ''])
    expect(stderr).toMatch(/^Released ses_\w+\. Its agent has no program in which you can continue it/)
    const log = (await home.run(['export', 'last'])).stdout.trimEnd().split('\n')
    expect(JSON.parse(log.at(-2) ?? '')).toMatchObject({ type: 'agent.disconnected', reason: 'closed' })
    expect(await home.run(['release', 'nothing'])).toMatchObject({ exitCode: 1, stdout: '' })
  })
})

describe('parley run', () => {
  it("streams the agent's text and exits with 0", async () => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(['run', 'demo', 'think'])
    expect(stdout).toBe('I thought about it, and the second way is better.\n')
    expect(stderr).toMatch(/^completed/m)
    expect(exitCode).toBe(0)
  })

  it('exits with 1 when the turn failed, and prints the reason', async () => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(['run', 'demo', 'fail'])
    expect(stdout).toBe('')
    expect(stderr).toContain('✗ fetch https://example.invalid · failed')
    expect(stderr).toContain('failed: The model stopped: the demo made this error up.')
    expect(exitCode).toBe(1)
  })

  it('denies permissions when nobody can be asked, and reports each denial', async () => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(['run', 'demo', 'show a permission'])
    expect(stderr).toContain(
      'parley: denied rm -rf build: not a terminal; use --on-permission allow, or --mode bypass\n',
    )
    expect(stderr.match(/denied rm -rf build/g)).toHaveLength(1)
    expect(stderr).toContain('✗ execute rm -rf build · denied')
    expect(stdout).toContain('As you wish: I leave it alone.')
    expect(exitCode).toBe(0)
  })

  it('allows permissions with --on-permission allow', async () => {
    await using home = createHome()
    const { stdout, stderr } = await home.run(['run', 'demo', 'permission', '--on-permission', 'allow'])
    expect(stderr).toContain('parley: allowed rm -rf build: --on-permission allow\n')
    expect(stderr).toContain('✓ execute rm -rf build · completed')
    expect(stderr).toContain('    (nothing was removed: this is a demo)\n')
    expect(stdout).toContain('Thank you.')
    const { lines } = await events(home, ['permission', '--on-permission', 'allow'])
    expect(lines.find(({ type }) => type === 'permission.resolved')).toMatchObject({
      message: 'allowed by --on-permission allow',
    })
  })

  it('cancels a turn that asks a question when nobody can be asked', async () => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(['run', 'demo', 'ask me something'])
    expect(stderr).toContain('nobody is there to answer')
    expect(exitCode).toBe(130)
  })

  it('prints events as JSON lines, and deltas only with --deltas', async () => {
    await using home = createHome()
    const { lines, exitCode } = await events(home, ['think', '--title', 'A thought'])
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1))
    expect(lines[0]).toMatchObject({ type: 'session.created', title: 'A thought', agent: 'demo' })
    expect(lines.at(-1)).toMatchObject({ type: 'turn.ended', outcome: 'completed' })
    expect(exitCode).toBe(0)
    const { lines: all } = await events(home, ['think', '--deltas'])
    expect(all.some(({ type }) => type === 'text.streamed')).toBe(true)
  })

  it('reads the prompt from stdin, and continues a session', async () => {
    await using home = createHome()
    const { lines } = await events(home, ['think'])
    const args = ['run', 'demo', '--session', sessionOf(lines).slice(0, 12), '--json']
    const { stdout, exitCode } = await home.run(args, { input: 'fail\n' })
    const more = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(sessionOf(more)).toBe(sessionOf(lines))
    expect(more[0].seq).toBeGreaterThan(lines.at(-1).seq)
    expect(more.find(({ type }) => type === 'prompt.submitted').parts).toEqual([
      { type: 'text', text: 'fail\n' },
    ])
    expect(exitCode).toBe(1)
  })

  it('cancels the turn on the first signal and waits for its end', async () => {
    await using home = createHome()
    const running = home.start(['run', 'demo', 'hang'])
    await running.until('until you stop me')
    running.child.kill('SIGINT')
    const { exitCode, stderr } = await running.ended
    expect(stderr).toMatch(/^cancelled/m)
    expect(exitCode).toBe(130)
    const { stdout } = await home.run(['sessions', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ status: 'idle' })
  })

  it('cancels the turn after --timeout', async () => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(['run', 'demo', 'hang', '--timeout', '500ms'])
    expect(stderr).toContain('timed out after')
    expect(exitCode).toBe(130)
  })

  it('exits without an error when the reader of its output closes the pipe', async () => {
    await using home = createHome()
    const running = home.start(['run', 'demo', 'flood'])
    await running.until('flood flood')
    running.child.stdout?.destroy()
    const { exitCode, stderr } = await running.ended
    expect(stderr).not.toMatch(/EPIPE|at .*\.ts/)
    expect([0, 130]).toContain(exitCode)
  })

  it.each([
    [['run', 'demo'], 'The prompt is empty'],
    [['run', 'demo', 'x', '--mode', 'yolo'], '--mode takes one of'],
    [['run', 'demo', 'x', '--on-permission', 'maybe'], '--on-permission takes'],
    [['run', 'demo', 'x', '--timeout', 'soon'], '--timeout takes a time'],
    [['sessions', '--waiting', '--all'], '--waiting lists all'],
    [['run'], "missing required argument 'agent'"],
  ])('answers %j with one line and exit code 2', async (args, words) => {
    await using home = createHome()
    const { exitCode, stderr } = await home.run(args)
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^parley: [^\n]*\n$/)
    expect(exitCode).toBe(2)
  })

  it('reports an unknown session, with the data folder in its hint', async () => {
    await using home = createHome()
    await home.run(['rules', 'add', 'ask', 'Bash', '--data-dir', 'my data'])
    expect(await home.run(['show', 'ses_none', '--data-dir', 'my data'])).toMatchObject({
      exitCode: 1,
      stderr: `parley: There is no session "ses_none". List them with: npm start -- sessions --data-dir '${home.folder}/my data'\n`,
    })
  })

  it('uses the running server; without one, two concurrent commands share an embedded server', async () => {
    await using home = createHome()
    const think = () => home.start(['run', 'demo', 'think', '--json'], { input: '' }).ended
    const both = await Promise.all([think(), think()])
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0])
    await home.serve()
    expect((await events(home, ['think'])).exitCode).toBe(0)
    const { stdout } = await home.run(['sessions', '--json'])
    expect(stdout.trimEnd().split('\n')).toHaveLength(3)
  })
})

describe('the commands that read sessions', () => {
  it('list, show, export and delete a session', async () => {
    await using home = createHome()
    const { lines } = await events(home, ['think', '--title', 'A thought'])
    const id = sessionOf(lines)
    const list = await home.run(['sessions'])
    expect(list.stdout).toMatch(/^ID +STATUS/)
    expect(list.stdout).toContain(id)
    expect(list.stdout).toContain('A thought')

    const shown = await home.run(['show', 'last'])
    expect(shown.stdout).toMatch(/^A thought\n/)
    expect(shown.stdout).toContain(`Session: ${id},`)
    expect(shown.stdout).not.toContain('\\')
    expect(shown.stdout).toContain('Status: idle, 1 turn,')
    const detail = JSON.parse((await home.run(['show', id.slice(4, 14), '--json'])).stdout)
    expect(detail).toMatchObject({ id, turns: 1 })

    const jsonl = await home.run(['export', id])
    const exported = jsonl.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(exported.slice(0, lines.length)).toEqual(lines)
    const file = join(home.folder, 'out.html')
    await home.run(['export', id, '--as', 'html', '-o', file])
    expect(readFileSync(file, 'utf8')).toContain('<html')
    expect((await home.run(['export', id, '--as', 'pdf'])).exitCode).toBe(2)

    expect((await home.run(['delete', id])).exitCode).toBe(2)
    expect((await home.run(['delete', id, '--yes'])).exitCode).toBe(0)
    expect((await home.run(['sessions', '--json'])).stdout).toBe('')
  })

  it('list the agents', async () => {
    await using home = createHome()
    const { stdout } = await home.run(['agents'])
    expect(stdout).toMatch(/^demo +yes/m)
    const lines = (await home.run(['agents', '--json'])).stdout.trimEnd().split('\n')
    const found = lines.map((line) => JSON.parse(line) as { id: string; found: boolean })
    expect(found).toContainEqual(expect.objectContaining({ id: 'demo', found: true }))
  })

  it('list open requests', async () => {
    await using home = createHome()
    expect((await home.run(['sessions', '--waiting'])).stderr).toBe('No open requests.\n')
    await home.serve()
    const asking = home.start(['run', 'demo', 'show a permission', '--on-permission', 'ask'])
    await asking.until('waiting for an answer from another client. To answer: npm start -- attach ses_')
    const { stdout } = await home.run(['sessions', '--waiting'])
    expect(stdout).toMatch(/^ID .*ASKS FOR/)
    expect(stdout).toMatch(/^ses_\S+ +demo +now +execute rm -rf build/m)
    const json = JSON.parse((await home.run(['sessions', '--waiting', '--json'])).stdout)
    expect(json).toMatchObject({ request: { title: 'rm -rf build' }, session: { status: 'waiting' } })
  })

  it('show short ids on a terminal, which other commands accept', async () => {
    await using home = createHome()
    const { lines } = await events(home, ['think', '--title', 'A thought'])
    const { stdout } = await home.onTerminal(['sessions']).ended
    const name = /^(ses_\w+) /m.exec(stdout)?.[1] ?? ''
    expect(name).toHaveLength(12)
    expect(sessionOf(lines).startsWith(name)).toBe(true)
    expect((await home.run(['show', name])).stdout).toMatch(/^A thought\n/)
  })
})

describe('the help', () => {
  it.each(['serve', 'run', 'attach', 'sessions', 'show', 'export', 'agents', 'trust', 'doctor', 'token'])(
    'of %s has examples',
    async (command) => {
      await using home = createHome()
      const { exitCode, stdout } = await home.run([command, '--help'])
      expect(stdout).toContain('Examples:\n  $ npm start --')
      expect(exitCode).toBe(0)
      expect(existsSync(home.dataDir)).toBe(false)
    },
  )
})
