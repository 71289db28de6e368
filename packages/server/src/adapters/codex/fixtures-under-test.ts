import type { AgentOutput } from '@parley/adapter-kit'
import { readRecording, recordingsIn } from '@parley/adapter-kit/testing'
import { withDenied, withInterrupt } from '@parley/adapter-kit/translation'
import { recordingsFolder } from '../../testing/recordings-folder.ts'
import type { NativeItem, NativeMessage, NativeTurn } from './native.ts'
import { translate } from './translate.ts'
import { initialState, type TranslateContext, type TranslateState, withTurn } from './translate-state.ts'

const folder = recordingsFolder(import.meta.dirname)

export const fixtureNames = recordingsIn(folder)

/** A line of a recording: a message of Codex, or a mark of what was sent to it. */
export type FixtureLine =
  | NativeMessage
  | { readonly sent: 'interrupt' | 'denied'; readonly toolCallId?: string }

export function readFixture(name: string): FixtureLine[] {
  return readRecording(folder, name)
}

/** The outputs of the translator for each turn of a recording, up to the next turn. */
export function translateFixture(name: string, context: Partial<TranslateContext> = {}): AgentOutput[][] {
  const lines = readFixture(name)
  const turns: AgentOutput[][] = [[]]
  const threadId = rootOf(lines)
  let state = initialState({ threadId, cwd: '/somewhere/project', ...context })
  for (const [index, line] of lines.entries()) {
    if ('sent' in line) {
      state = toldOf(state, line)
      continue
    }
    if (beginsTurn(line, threadId)) {
      if (state.turns > 0) turns.push([])
      state = withTurn(state, { compacting: compacts(lines.slice(index), line) })
    }
    if ('id' in line) continue
    const next = translate(state, line)
    state = next.state
    turns.at(-1)?.push(...next.outputs)
  }
  return turns
}

export function allOutputs(name: string, context?: Partial<TranslateContext>): AgentOutput[] {
  return translateFixture(name, context).flat()
}

function toldOf(state: TranslateState, { sent, toolCallId }: Extract<FixtureLine, { sent: string }>) {
  if (sent === 'interrupt') return withInterrupt(state)
  return toolCallId === undefined ? state : withDenied(state, toolCallId)
}

type Params = { threadId?: string; turnId?: string; turn?: NativeTurn; item?: NativeItem }

function rootOf(lines: readonly FixtureLine[]): string {
  const begun = lines.find((line) => 'method' in line && line.method === 'turn/started')
  const { threadId = '' } = ((begun as NativeMessage | undefined)?.params ?? {}) as Params
  return threadId
}

function beginsTurn({ method, params }: NativeMessage, threadId: string): boolean {
  return method === 'turn/started' && (params as Params).threadId === threadId
}

/** True if the turn starts with a compaction, which means that a person requested the compaction. */
function compacts(lines: readonly FixtureLine[], begun: NativeMessage): boolean {
  const turnId = (begun.params as Params).turn?.id
  const first = lines.find(
    (line) => 'method' in line && line.method === 'item/started' && (line.params as Params).turnId === turnId,
  )
  return (
    ((first as NativeMessage | undefined)?.params as Params | undefined)?.item?.type === 'contextCompaction'
  )
}
