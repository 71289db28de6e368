import { type NodeCheck, type NodeInfo, NodeList, type NodeProblem } from '@parley/protocol'
import { challengeHeader, type PeerCredential, proofHeader } from './peer-credential.ts'

/** A node, as the database describes it. */
type StoredNode = Omit<NodeInfo, 'place' | 'state' | 'databaseLatencyMs'> & {
  readonly place: string
  readonly leaseLeftMs: number
  readonly isFenced: boolean
  readonly latencyMs: number | null
}

export type NodeListParts = {
  readonly ownership: {
    nodes(): Promise<readonly StoredNode[]>
    measure(): Promise<NonNullable<NodeList['database']>>
  }
  readonly credential: PeerCredential
  /** How long a node may take to answer. The default is 3 seconds. */
  readonly answerMs?: number
}

/** Lists the nodes on the database. With a check, it also asks every living node for an answer at its URL. */
export function createNodeList(parts: NodeListParts): (check?: NodeCheck) => Promise<NodeList> {
  const { ownership } = parts
  return async (check) => {
    const [nodes, database] = await Promise.all([storedNodes(ownership), ownership.measure()])
    if (check === undefined) return { nodes, database }
    const checked = nodes.map((node) => (node.state === 'gone' ? node : checkedNode(node, check, parts)))
    return { nodes: await Promise.all(checked), database }
  }
}

export async function storedNodes(ownership: Pick<NodeListParts['ownership'], 'nodes'>): Promise<NodeInfo[]> {
  const stored = await ownership.nodes()
  return stored.filter((node) => !isReplaced(node, stored)).map(infoOf)
}

/** Whether a server at the same URL was started since. */
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

async function checkedNode(node: NodeInfo, check: NodeCheck, parts: NodeListParts): Promise<NodeInfo> {
  const answer = await ask(node, check, parts)
  if (typeof answer === 'string') return { ...node, reachable: false, problem: answer }
  if (check === 'peers') return { ...node, reachable: true }
  const cannotReach = answer.flatMap(({ id, problem }) => (problem ? [{ id, problem }] : []))
  return { ...node, reachable: true, cannotReach }
}

/** The nodes as the node at this URL lists them, or why it was not reached. */
async function ask(
  { id, url }: NodeInfo,
  check: NodeCheck,
  { credential, answerMs = 3_000 }: NodeListParts,
): Promise<readonly NodeInfo[] | NodeProblem> {
  const headers = credential.headersFor(url)
  let response: Response
  let body: unknown
  try {
    // The node that is asked waits for answers too, so it gets more time.
    const signal = AbortSignal.timeout(check === 'all' ? 2 * answerMs : answerMs)
    const path = check === 'all' ? '/api/nodes?check=peers' : '/api/nodes'
    response = await fetch(`${new URL(url).origin}${path}`, { headers, signal, redirect: 'error' })
    body = await response.json().catch(() => undefined)
  } catch (thrown) {
    return (thrown as Error).name === 'TimeoutError' ? 'no-answer' : 'unreachable'
  }
  const isProved = credential.isProof(response.headers.get(proofHeader), url, headers[challengeHeader])
  if (!isProved) return problemOf(response.status)
  const { data } = NodeList.safeParse(body)
  // Without a list it is a node whose database does not answer.
  if (!data) return []
  return data.nodes.some((other) => other.isSelf && other.id !== id) ? 'other-node' : data.nodes
}

function problemOf(status: number): NodeProblem {
  if (status === 401) return 'other-token'
  return status === 403 ? 'host-not-allowed' : 'not-a-node'
}
