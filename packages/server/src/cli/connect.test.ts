import { homedir } from 'node:os'
import { expect, it, vi } from 'vitest'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { createCommandLine } from './command-line.ts'
import { resolveConfiguration } from './configuration.ts'
import { connect } from './connect.ts'
import { createOutput } from './terminal/output.ts'

it.each([
  ['', 0],
  [', even if the system clock is set forward', 3_600_000],
])(
  'an embedded server does not end before the turn of a session that another command has just created%s',
  async (_, change) => {
    using folder = new TemporaryFolder()
    const configuration = resolveConfiguration({
      flags: { dataDir: folder.path },
      env: {},
      cwd: folder.path,
      home: homedir(),
      readConfig: () => ({}),
      readToken: () => '',
    })
    const invocation = 'parley'
    const messages: string[] = []
    const output = { ...createOutput(process), err: (text: string) => void messages.push(text) }
    const stdin = process.stdin
    const commandLine = createCommandLine({ invocation })
    const program = ['node', 'parley']
    const context = { env: {}, cwd: folder.path, invocation, program, commandLine, stdin, output }
    const owner = await connect(configuration, context)
    const other = await connect(configuration, context)
    expect([owner.embedded, other.embedded]).toEqual([true, false])
    const { id } = await other.client.call('createSession', { body: { agent: 'demo', cwd: folder.path } })
    using _clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + change)
    const ended = owner[Symbol.asyncDispose]()
    await vi.waitFor(() => expect(messages).toHaveLength(1))
    await other.client.prompt(id, 'think')
    await ended
    expect(messages).toEqual([expect.stringContaining(id)])
    await using next = await connect(configuration, context)
    const session = await next.client.call('getSession', { params: { id } })
    expect(session).toMatchObject({ status: 'idle', lastTurn: { outcome: 'completed' } })
    await other[Symbol.asyncDispose]()
  },
)
