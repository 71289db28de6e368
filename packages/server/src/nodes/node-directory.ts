import {
  type NodeCheck,
  type NodeInfo,
  NodeList,
  type NodeProblem,
  ParleyError,
  type SessionNode,
} from '@parley/protocol'
import { challengeHeader, isNodeUrl, type PeerCredential, proofHeader } from './peer-credential.ts'

/** A node, as the database describes it. */
type StoredNode = Omit<NodeInfo, 'place' | 'state' | 'databaseLatencyMs'> & {
  readonly place: string
  readonly leaseLeftMs: number
  readonly isFenced: boolean
  readonly latencyMs: number | null
}

type StoredSessionNode = {
  readonly place: string
  readonly machine: string
  readonly isPresent: boolean
  readonly nodeId: number | null
  readonly nodeUrl: string | null
}

export type NodeDirectoryParts = {
  readonly ownership: {
    nodes(): Promise<readonly StoredNode[]>
    nodeOf(sessionId: string): Promise<StoredSessionNode | undefined>
    measure(): Promise<NonNullable<NodeList['database']>>
  }
  readonly credential: PeerCredential
  /** The time limit for a node to answer. The default is 3 seconds. */
  readonly answerMs?: number
}

/** Answers requests about the nodes on the database. */
export function createNodeDirectory(parts: NodeDirectoryParts) {
  const { ownership } = parts
  return {
    /** Lists the nodes. With a check, it also asks every living node for an answer at its URL. */
    async list(check?: NodeCheck): Promise<NodeList> {
      const [nodes, database] = await Promise.all([storedNodes(ownership), ownership.measure()])
      if (check === undefined) return { nodes, database }
      const checked = nodes.map((node) => (node.state === 'gone' ? node : checkedNode(node, check, parts)))
      return { nodes: await Promise.all(checked), database }
    },
    /**
     * The address of a living node whose token differs from that of this node. Undefined if no node answers, or if at
     * least one node with the same token answers: in that case, the other node is misconfigured.
     */
    async otherToken(ownUrl: string): Promise<string | undefined> {
      const stored = await storedNodes(ownership)
      const others = stored.filter(({ state, url }) => state === 'alive' && url !== ownUrl)
      const answers = await Promise.all(others.map((node) => ask(node, 'peers', parts)))
      if (answers.some((answer) => typeof answer !== 'string')) return undefined
      return others[answers.indexOf('other-token')]?.url
    },
    async ofSession(sessionId: string): Promise<SessionNode> {
      const row = await ownership.nodeOf(sessionId)
      if (!row) throw new ParleyError('not_found', `There is no session ${sessionId}.`)
      const { place, machine, isPresent, nodeId, nodeUrl } = row
      return {
        place,
        machine: machine || place,
        ...(nodeId !== null && nodeUrl !== null && { node: { id: nodeId, url: nodeUrl } }),
        ...(!isPresent && { awaited: true as const }),
      }
    },
  }
}

export async function storedNodes(
  ownership: Pick<NodeDirectoryParts['ownership'], 'nodes'>,
): Promise<NodeInfo[]> {
  const stored = await ownership.nodes()
  return stored.filter((node) => !isReplaced(node, stored)).map(infoOf)
}

/** True if a server at the same URL was started later. */
function isReplaced(node: StoredNode, all: readonly StoredNode[]): boolean {
  return node.isFenced && all.some(({ url, id }) => url === node.url && id > node.id)
}

function infoOf({ leaseLeftMs, isFenced, latencyMs, ...node }: StoredNode): NodeInfo {
  const left = leaseLeftMs > 0 ? 'alive' : 'expired'
  return {
    ...node,
    state: isFenced ? 'gone' : left,
    ...(latencyMs !== null && { databaseLatencyMs: latencyMs }),
  }
}

async function checkedNode(node: NodeInfo, check: NodeCheck, parts: NodeDirectoryParts): Promise<NodeInfo> {
  const answer = await ask(node, check, parts)
  if (typeof answer === 'string') return { ...node, reachable: false, problem: answer }
  if (check === 'peers') return { ...node, reachable: true }
  const cannotReach = answer.flatMap(({ id, problem }) => (problem ? [{ id, problem }] : []))
  return { ...node, reachable: true, cannotReach }
}

/** The nodes as the node at this URL lists them, or the reason why it was not reached. */
async function ask(
  { id, url }: NodeInfo,
  check: NodeCheck,
  { credential, answerMs = 3_000 }: NodeDirectoryParts,
): Promise<readonly NodeInfo[] | NodeProblem> {
  if (!isNodeUrl(url)) return 'unreachable'
  const headers = credential.headersFor(url)
  try {
    // With `all`, the other node itself waits for the answers of further nodes, so it gets more time.
    const signal = AbortSignal.timeout(check === 'all' ? 2 * answerMs : answerMs)
    const path = check === 'all' ? '/api/nodes?check=peers' : '/api/nodes'
    const response = await fetch(`${new URL(url).origin}${path}`, { headers, signal, redirect: 'error' })
    if (!credential.isProof(response.headers.get(proofHeader), url, headers[challengeHeader])) {
      // The body is cancelled, because the answer of another program may never end.
      await response.body?.cancel()
      return response.status === 401 ? 'other-token' : 'not-a-node'
    }
    const { data } = NodeList.safeParse(await response.json().catch(() => undefined))
    // A node that returns no list cannot reach its database.
    if (!data) return []
    return data.nodes.some((other) => other.isSelf && other.id !== id) ? 'other-node' : data.nodes
  } catch (thrown) {
    return (thrown as Error).name === 'TimeoutError' ? 'no-answer' : 'unreachable'
  }
}
