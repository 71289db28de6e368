import { Console } from 'node:console'
import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable'
import { messageOf } from '@parley/protocol'
import { createAcpFace, modeFrom } from '../../faces/acp/index.ts'
import { version } from '../../version.ts'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { exitCodes } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { expectAgent } from '../known-agent.ts'
import { createReconnectingAccess } from '../reconnecting-access.ts'

export type AcpOptions = Flags & {
  readonly agent: string
  readonly mode?: string
  readonly model?: string
}

/** Speaks the Agent Client Protocol on stdin and stdout until the editor disconnects. */
export async function acp(options: AcpOptions, context: Context): Promise<number> {
  const { output, stdin, commandLine } = context
  const configuration = configurationOf(context, options)
  const defaults = defaultsOf(options)
  // Prints to stderr: anything that a library prints on stdout would be read as a message.
  globalThis.console = new Console(process.stderr)
  if (stdin.isTTY)
    output.err(
      'parley: this command speaks the Agent Client Protocol on stdin and stdout. Start it from an editor.\n',
    )
  const connected = () => connect(configuration, context)
  const first = await connected()
  await using server = createReconnectingAccess(first, connected)
  // Checked before the editor's first request, so that an unknown agent is reported on stderr at once.
  const served = async () => (await first.client.call('listAgents')).agents
  await expectAgent(options.agent, { flags: options, context, served })
  const face = createAcpFace(ndJsonStream(toWeb(process.stdout), Readable.toWeb(stdin) as ReadableStream), {
    agent: options.agent,
    version,
    defaults,
    access: server.access,
    opened: (sessionId) => server.own(sessionId),
    elsewhere: (sessionId) => commandLine(`attach ${sessionId}`),
    problem: (thrown, doing) => output.err(`parley: could not ${doing}: ${messageOf(thrown)}\n`),
  })
  using _interrupts = onInterrupt(() => face.close())
  output.readerLeft.addEventListener('abort', () => face.close())
  await face.closed
  return exitCodes.completed
}

function toWeb(stream: Writable): WritableStream<Uint8Array> {
  return Writable.toWeb(stream) as WritableStream<Uint8Array>
}

function defaultsOf({ mode, model }: AcpOptions) {
  return { ...(mode !== undefined && { mode: modeFrom(mode) }), ...(model !== undefined && { model }) }
}
