import type { Remembered } from '@parley/adapter-kit'
import type { EventDraft, PromptPart, SessionState } from '@parley/protocol'
import type { Ids } from './clock.ts'
import { LogWriter } from './log-writer.ts'

/** A prompt in an agent's record of a conversation, and the outputs that followed. */
export type RecordedTurn = {
  readonly prompt: Extract<Remembered, { type: 'prompt' }>
  readonly outputs: readonly Extract<Remembered, { type: 'output' }>[]
}

export type Difference = {
  /** The turns that took place in the agent's own program, in order. */
  readonly turns: readonly RecordedTurn[]
  /**
   * The number of prompts of the log that are no longer part of the agent's conversation, because the conversation was
   * continued from an earlier point.
   */
  readonly forgotten: number
}

export async function recordedTurns(record: AsyncIterable<Remembered>): Promise<RecordedTurn[]> {
  const turns: { prompt: RecordedTurn['prompt']; outputs: Extract<Remembered, { type: 'output' }>[] }[] = []
  for await (const one of record) {
    if (one.type === 'prompt') turns.push({ prompt: one, outputs: [] })
    else turns.at(-1)?.outputs.push(one)
  }
  return turns
}

/**
 * Compares an agent's record with the log, by the ids of prompts. `promptIds` are the ids of the last prompts of the
 * log, in order. Prompts of the record that follow the first known id and are not in `promptIds` were given in
 * another program. If the record has no known id, the prompts after the time `since` were given in another program.
 */
export function differenceOf(
  record: readonly RecordedTurn[],
  promptIds: readonly string[],
  since: number,
): Difference {
  const known = new Set(promptIds)
  const ids = new Set(record.map(({ prompt }) => prompt.id))
  const first = record.findIndex(({ prompt }) => prompt.id !== undefined && known.has(prompt.id))
  const isNew = ({ prompt }: RecordedTurn) =>
    !prompt.own && !(prompt.id !== undefined && known.has(prompt.id)) && !isCompactCommand(prompt.parts)
  const turns = record.filter(
    (turn, index) => isNew(turn) && (first < 0 ? turn.prompt.at > since : index > first),
  )
  const latest = promptIds.findLastIndex((id) => ids.has(id))
  const forgotten = turns.length > 0 && latest >= 0 ? promptIds.length - 1 - latest : 0
  return { turns, forgotten }
}

/** True for the compact command: agents store no id for it, so it cannot be compared. */
function isCompactCommand(parts: readonly PromptPart[]): boolean {
  return parts.every((part) => part.type === 'command' && part.name === 'compact')
}

/** The drafts that outside turns add to the log. They follow the same rules as a live turn. */
export function outsideDrafts(
  state: SessionState,
  turns: readonly RecordedTurn[],
  ids: Ids,
  now: number,
): EventDraft[] {
  const writer = new LogWriter(state)
  for (const { prompt, outputs } of turns) {
    const { id, at, parts } = prompt
    writer.startTurn(now, ids, { parts, outside: { at, ...(id !== undefined && { id }) } })
    for (const { output } of outputs) {
      if (isOfTurn(output.type) && writer.state.turn) writer.addOutput(now, ids, output)
    }
    writer.endTurn(now)
  }
  return writer.drafts
}

/**
 * True for the types of output that are added to the log. Settings and totals are left out: the agent that is
 * started next reports its own.
 */
function isOfTurn(type: string): boolean {
  return /^(text|thinking|block|tool-call|turn|plan|task|context)\./.test(type) || type === 'agent.noticed'
}
