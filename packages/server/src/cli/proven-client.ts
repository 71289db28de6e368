import { type Client, createClient } from '@parley/client'
import { type NodeInfo, ParleyError } from '@parley/protocol'
import type { Configuration } from './configuration.ts'
import { isProof, isProvable, type ProvableOwner, randomValue, readOwner } from './owner.ts'
import { tokenOf } from './token-file.ts'

export type ProvenClient = {
  readonly client: Client
  /** The address that the client uses now. */
  readonly url: string
  /**
   * Makes the client continue on another node of the same machine if the server ends. The nodes are listed in advance
   * and at intervals, because a server that has ended cannot list them.
   */
  useOtherNodes(): Promise<void>
  close(): void
}

export const healthMs = 2_000
const callMs = 30_000
/** The time for which a proof is valid. A short command usually ends within this time, so it needs only one proof. */
const provenMs = 1_000
const listNodesMs = 10_000

/**
 * Whether the server at the URL of the record proves that it wrote the record. Another program may listen there by
 * now, so the token is sent only after this check. Rejects if nothing answers.
 */
export async function provesRecord(owner: ProvableOwner, timeoutMs: number): Promise<boolean> {
  const { fetch } = await transportFor(owner.url)
  using stranger = createClient({ url: owner.url, name: 'parley cli', fetch })
  const challenge = randomValue()
  const { proof } = await stranger.call('health', { query: { challenge }, timeoutMs })
  return isProof(proof, owner, challenge)
}

/**
 * Returns a client of the server that has just proved the record. The server may crash before the client reconnects:
 * after `provenMs`, a failed request or a lost socket, the client sends the token only after another proof, of the
 * server or of another node.
 */
export async function createProvenClient(
  proven: ProvableOwner,
  configuration: Configuration,
): Promise<ProvenClient> {
  const own = await transportFor(proven.url)
  const token = tokenOf(configuration)
  let url = proven.url
  let provenUntil = performance.now() + provenMs
  let others: readonly NodeInfo[] = []
  let timer: NodeJS.Timeout | undefined
  const forgetProof = () => {
    provenUntil = 0
  }

  async function isServerProven(): Promise<boolean> {
    // If the folder was moved, there is no record at its old path; the proven record is used.
    const owner = readOwner(configuration.dataDir) ?? proven
    if (!isProvable(owner) || owner.url !== proven.url) return false
    // The error in a reply is not passed on: another program may have written it, with any code and text.
    return provesRecord(owner, others.length > 0 ? healthMs : callMs).catch(() => false)
  }

  /** The address of the server, or of a node in its place. The address in use is preferred. */
  async function provenUrl(): Promise<string | undefined> {
    const current = url === proven.url ? undefined : others.find((node) => node.url === url)
    if (current && (await provesToken(current, token))) return url
    if (await isServerProven()) return proven.url
    for (const node of others) if (await provesToken(node, token)) return node.url
    return undefined
  }

  const client = createClient({
    url: proven.url,
    name: 'parley cli',
    async token() {
      if (performance.now() < provenUntil) return token
      const found = await provenUrl()
      if (found === undefined) throw replaced(proven)
      url = found
      provenUntil = performance.now() + provenMs
      return token
    },
    fetch: (address, init) => {
      const { fetch } = url === proven.url ? own : plainTransport
      return fetch(redirected(String(address), url), init).catch((thrown) => {
        forgetProof()
        throw thrown
      })
    },
    WebSocket: function open(address: string | URL, protocols?: string | string[]) {
      const { WebSocket } = url === proven.url ? own : plainTransport
      return new WebSocket(redirected(String(address), url.replace(/^http/, 'ws')), protocols)
    } as unknown as typeof WebSocket,
  })
  client.socket.onStatus(({ state }) => {
    if (state === 'waiting') forgetProof()
  })

  const listOthers = async () => {
    const { nodes } = await client.call('listNodes')
    const self = nodes.find(({ isSelf }) => isSelf)
    if (self) others = nodes.filter((node) => isStandIn(node, self) && node.url !== proven.url)
  }
  return {
    client,
    get url() {
      return url
    },
    async useOtherNodes() {
      // A failure is ignored: the list is requested again later.
      await listOthers().catch(() => undefined)
      timer ??= setInterval(() => void listOthers().catch(() => undefined), listNodesMs).unref()
    },
    close() {
      clearInterval(timer)
      client.close()
    },
  }
}

type Transport = { readonly fetch: typeof fetch; readonly WebSocket: typeof WebSocket }

const plainTransport: Transport = { fetch, WebSocket }

/** Returns the transport to the server of the owner record. The code for TLS is loaded only if that server uses it. */
async function transportFor(url: string): Promise<Transport> {
  if (!url.startsWith('https:')) return plainTransport
  const { ownTlsFetch, OwnTlsWebSocket } = await import('./own-tls.ts')
  return { fetch: ownTlsFetch, WebSocket: OwnTlsWebSocket }
}

/** The address with the origin of another URL. */
function redirected(address: string, to: string): string {
  const { pathname, search } = new URL(address)
  return `${new URL(to).origin}${pathname}${search}`
}

/**
 * Whether the client may continue on this node. The node must be on the same machine: the token is not sent over a
 * network, and only such a node can continue the session.
 */
function isStandIn({ state, place }: NodeInfo, self: NodeInfo): boolean {
  return state === 'alive' && place !== undefined && place === self.place
}

/** Whether a node proves that it has the token, and reaches its database. The token is not sent to the node. */
async function provesToken({ url, id }: NodeInfo, token: string): Promise<boolean> {
  const { challengeHeader, isNodeUrl, PeerCredential, proofHeader } = await import(
    '../nodes/peer-credential.ts'
  )
  if (!isNodeUrl(url)) return false
  const credential = new PeerCredential(token, () => '', { at: () => id, isCurrent: () => false })
  const headers = credential.headersFor(url)
  const signal = AbortSignal.timeout(healthMs)
  try {
    const answer = await fetch(`${new URL(url).origin}/api/nodes`, { headers, signal, redirect: 'error' })
    await answer.body?.cancel()
    return answer.ok && credential.isProof(answer.headers.get(proofHeader), url, headers[challengeHeader])
  } catch {
    return false
  }
}

/**
 * The error if a server does not prove the record again. Its reason is `unreachable`, so that the client tries
 * again: the server may be restarting.
 */
function replaced({ url }: ProvableOwner): ParleyError {
  return new ParleyError(
    'busy',
    `The server of this data folder no longer runs at ${url}: nothing answers there, or the program that answers cannot prove that it is that server. The token was not sent.`,
    { details: { reason: 'unreachable', url } },
  )
}
