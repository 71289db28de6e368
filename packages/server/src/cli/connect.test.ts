import { homedir } from 'node:os'
import { expect, it, vi } from 'vitest'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { createCommandLine } from './command-line.ts'
import { resolveConfiguration } from './configuration.ts'
import { connect } from './connect.ts'
import { createOutput } from './terminal/output.ts'

it('an embedded server does not end before the turn of a session that another command has just created', async () => {
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
  const context = { env: {}, cwd: folder.path, invocation, commandLine, stdin, output }
  const owner = await connect(configuration, context)
  const other = await connect(configuration, context)
  expect([owner.embedded, other.embedded]).toEqual([true, false])
  const { id } = await other.client.call('createSession', { body: { agent: 'demo', cwd: folder.path } })
  const ended = owner[Symbol.asyncDispose]()
  await vi.waitFor(() => expect(messages).toHaveLength(1))
  await other.client.prompt(id, 'think')
  await ended
  expect(messages).toEqual([expect.stringContaining(id)])
  await using next = await connect(configuration, context)
  const session = await next.client.call('getSession', { params: { id } })
  expect(session).toMatchObject({ status: 'idle', lastTurn: { outcome: 'completed' } })
  await other[Symbol.asyncDispose]()
})
