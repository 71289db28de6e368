import { join } from 'node:path'
import { defined, newId } from '@parley/protocol'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { fileTranscript } from '../adapters/scripted/transcript.ts'
import type { Host } from '../core/index.ts'
import { createHost } from '../create-host.ts'
import { type ServerUnderTest, serverUnderTest, testToken } from '../faces/http/server-under-test.ts'
import { createTerminalFace } from '../faces/terminal/index.ts'
import { openPostgresNode } from '../stores/postgres/index.ts'
import { TcpProxy } from '../testing/tcp-proxy.ts'
import { createTerminals } from '../workspace/terminals.ts'
import { PassOn, type PassOnLimits } from './pass-on.ts'
import { challengeHeader, PeerCredential, proofHeader } from './peer-credential.ts'

/** A node in this process whose HTTP and terminal faces pass requests on. Its host routes nothing. */
export type ServingNode = {
  readonly host: Host
  readonly server: ServerUnderTest
  /** The connections of other nodes to this node. */
  readonly inbound: TcpProxy
  readonly credential: PeerCredential
  readonly suffix: string
  /** True if the node has answered a request for this path. */
  hasAnswered(path: string): boolean
  terminal(terminalId: string, token?: string): TerminalClient
  dispose(): Promise<void>
}

const lease = { leaseMs: 60_000, beatMs: 1_000, marginMs: 1_000 }

export async function servingNode(options: {
  databaseUrl: string
  place: string
  folder: string
  limits?: Partial<PassOnLimits>
}): Promise<ServingNode> {
  const { databaseUrl, place, folder, limits } = options
  const { store, ownership } = await openPostgresNode({
    url: databaseUrl,
    connections: 3,
    node: { place, lease },
  })
  const adapters = [createScriptedAdapter({ transcript: fileTranscript(join(folder, 'transcripts')) })]
  const host = await createHost({ adapters, store, ownership, ...defined({ shared: store.shared }) })
  let url = 'http://127.0.0.1:1'
  const credential = new PeerCredential(testToken, () => url, ownership.numbers)
  const passOn = new PassOn({
    directory: ownership,
    credential,
    url: () => url,
    token: testToken,
    ...(limits && { limits }),
  })
  const answerHeaders = proofFor(credential)
  const terminals = createTerminals({ env: process.env, newId: () => newId('trm') + passOn.suffix() })
  const face = createTerminalFace({ terminals, logger: pino({ level: 'silent' }), answerHeaders })
  const server = await serverUnderTest(host, {
    access: store,
    otherNodes: passOn,
    peers: { host, accepts: (bearer) => credential.accepts(bearer), answerHeaders },
    terminals,
    terminal: face.accept,
  })
  const inbound = await TcpProxy.open(server.port)
  url = inbound.url
  await ownership.start(url)
  return {
    host,
    server,
    inbound,
    credential,
    suffix: passOn.suffix(),
    hasAnswered: (path) => server.log.some((line) => line.includes(`"path":"${path}"`)),
    terminal: (terminalId, token) => new TerminalClient(server.port, terminalId, token),
    async dispose() {
      terminals.closeAll()
      await server.close()
      await host.close()
      await store.close()
      await inbound.close()
    },
  }
}

function proofFor(credential: PeerCredential) {
  return ({ headers }: { headers: Record<string, string | string[] | undefined> }) => {
    const challenge = headers[challengeHeader]
    return typeof challenge === 'string' ? { [proofHeader]: credential.prove(challenge) } : ({} as never)
  }
}

/** A page that is attached to a terminal. */
export class TerminalClient {
  readonly socket: WebSocket
  readonly opened: Promise<boolean>
  /** The close code, or the status of a refused upgrade. */
  readonly ended: Promise<number>
  text = ''

  constructor(port: number, terminalId: string, token = testToken) {
    const headers = { authorization: `Bearer ${token}` }
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/api/terminals/${terminalId}`, { headers })
    this.socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as { data?: string }
      this.text += frame.data ?? ''
    })
    this.socket.on('error', () => undefined)
    this.opened = new Promise((resolve) => {
      this.socket.once('open', () => resolve(true)).once('close', () => resolve(false))
    })
    this.ended = new Promise((resolve) => {
      this.socket.once('unexpected-response', (request, response) => {
        request.destroy()
        resolve(response.statusCode ?? 0)
      })
      this.socket.once('close', resolve)
    })
  }

  type(data: string): void {
    this.socket.send(JSON.stringify({ type: 'input', data }))
  }
}
