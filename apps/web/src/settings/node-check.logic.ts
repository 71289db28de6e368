import type { NodeInfo, NodeProblem } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'

const problemTexts: Record<NodeProblem, string> = {
  unreachable: 'cannot be reached',
  'no-answer': 'does not answer',
  'other-token': 'has another token: start all nodes with the same PARLEY_TOKEN',
  'other-node': 'is the address of another node: give each node its own PARLEY_NODE_URL',
  'not-a-node': 'is the address of another program: correct the PARLEY_NODE_URL of this node',
}

/**
 * The problems that a check found with a node, one sentence for each. Nodes are named by their URLs, because several
 * can run on one machine.
 */
export function checkProblems(checked: NodeInfo, nodes: readonly NodeInfo[]): readonly string[] {
  const { problem, cannotReach = [] } = checked
  if (problem) return [`${visible(checked.url)} ${problemTexts[problem]}.`]
  return cannotReach.map((one) => {
    const other = nodes.find(({ id }) => id === one.id)
    const name = other ? `${visible(other.url)} (${visible(other.machine)})` : `node ${one.id}`
    const text = problemTexts[one.problem].replace('of this node', 'of that node')
    return `Seen from this node, ${name} ${text}.`
  })
}
