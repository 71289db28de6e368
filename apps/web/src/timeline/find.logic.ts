import { promptText } from '@parley/protocol'
import { asJson, callLabel, inputOf, wantedDiffs, withEditedInput } from '../call/call-text.logic.ts'
import { diffLines } from '../parts/diff/lines.logic.ts'
import type { Node, Segment } from './nodes.logic.ts'
import { innerOf } from './rows.logic.ts'

/** A match: the key of its node, and its index among the matches in that node. */
export type Hit = {
  readonly key: string
  readonly nth: number
  /** Only matches in the result of the call count. */
  readonly inResult?: boolean
}

const maxPerNode = 200
export const maxFound = 5000

/** All matches of the query, in order, including those in collapsed nodes. */
export function findIn(segments: readonly Segment[], query: string): readonly Hit[] {
  const wanted = normalizedQuery(query)
  if (wanted === '') return []
  const found: Hit[] = []
  const look = (node: Node): void => {
    if (found.length >= maxFound) return
    if (node.type !== 'group') {
      const count = countOf(searchTextOf(node), wanted)
      for (let nth = 0; nth < count; nth++) found.push({ key: node.key, nth })
    }
    for (const inner of innerOf(node)) look(inner)
  }
  for (const segment of segments) for (const node of segment.nodes) look(node)
  return found
}

export function normalizedQuery(query: string): string {
  return query.trim().toLowerCase()
}

function countOf(text: string, wanted: string): number {
  let count = 0
  let at = text.indexOf(wanted)
  for (; at >= 0 && count < maxPerNode; at = text.indexOf(wanted, at + wanted.length)) count++
  return count
}

const searchTexts = new WeakMap<object, string>()

function searchTextOf(node: Exclude<Node, { type: 'group' }>): string {
  const known = searchTexts.get(node.block)
  if (known !== undefined) return known
  const made = read(node).toLowerCase()
  searchTexts.set(node.block, made)
  return made
}

/** The text that an expanded node shows, so that every counted match can be seen. */
function read(node: Exclude<Node, { type: 'group' }>): string {
  switch (node.type) {
    case 'prompt':
      return promptText(node.block.parts)
    case 'text':
    case 'thinking':
    case 'notice':
      return node.block.text
    case 'call': {
      const { request } = node
      const block = withEditedInput(node.block, request)
      const diffs = wantedDiffs(block, request)
      const input = inputOf(block, diffs)
      const shown = input && (input.type === 'json' ? asJson(block.input) : input.text)
      const { verb, about } = callLabel(block)
      const parts = [...diffs.map((diff) => ({ type: 'diff' as const, ...diff })), ...block.content]
      return [verb, about, shown ?? '', ...parts.map(partText)].join('\n')
    }
    case 'request':
      return asJson(node.block.request)
    case 'end':
      return node.block.end.error?.message ?? ''
    case 'unrecognised':
      return asJson(node.block.native)
  }
}

type Part = Extract<Node, { type: 'call' }>['block']['content'][number]

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'terminal':
      return part.output
    case 'diff':
      return [part.path, ...diffLines(part).hunks.flatMap(({ lines }) => lines.map(({ text }) => text))].join(
        '\n',
      )
    case 'resource':
      return [part.uri, part.text].join('\n')
    default:
      return ''
  }
}
