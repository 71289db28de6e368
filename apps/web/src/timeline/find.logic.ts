import { promptText } from '@parley/protocol'
import { asJson } from './call-words.logic.ts'
import type { Node, Segment } from './nodes.logic.ts'
import { innerOf } from './rows.logic.ts'

/** The nodes whose words contain the query, in order, folded ones included. */
export function findIn(segments: readonly Segment[], query: string): readonly string[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return []
  const found: string[] = []
  const look = (node: Node): void => {
    if (node.type !== 'group' && wordsOf(node).toLowerCase().includes(wanted)) found.push(node.key)
    for (const inner of innerOf(node)) look(inner)
  }
  for (const segment of segments) for (const node of segment.nodes) look(node)
  return found
}

const words = new WeakMap<object, string>()

function wordsOf(node: Exclude<Node, { type: 'group' }>): string {
  const known = words.get(node.block)
  if (known !== undefined) return known
  const made = read(node)
  words.set(node.block, made)
  return made
}

function read(node: Exclude<Node, { type: 'group' }>): string {
  switch (node.type) {
    case 'prompt':
      return promptText(node.block.parts)
    case 'text':
    case 'thinking':
    case 'notice':
      return node.block.text
    case 'call':
      return [
        node.block.name,
        node.block.title,
        asJson(node.block.input),
        ...node.block.content.map(partWords),
      ].join('\n')
    case 'request':
      return asJson(node.block.request)
    case 'end':
      return node.block.end.error?.message ?? ''
    case 'unrecognised':
      return asJson(node.block.native)
  }
}

type Part = Extract<Node, { type: 'call' }>['block']['content'][number]

function partWords(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'terminal':
      return part.output
    case 'diff':
      return [part.path, part.before, part.after, part.patch].join('\n')
    case 'resource':
      return [part.uri, part.text].join('\n')
    default:
      return ''
  }
}
