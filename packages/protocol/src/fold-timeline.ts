import type { Block } from './block.ts'
import { compactionText } from './compaction-text.ts'
import type { EventOf, SessionEvent } from './event.ts'
import { causeText, lossText, parkText, releaseText } from './notice-text.ts'

/**
 * Folds events into the timeline of blocks. Pure: copies the array once, however many events there are, and
 * replaces only the blocks that changed. The events may start anywhere in a log: an event of a block above
 * that point is left out.
 */
export function applyToTimeline(timeline: readonly Block[], events: readonly SessionEvent[]): Block[] {
  const blocks = timeline.slice()
  for (const event of events) apply(blocks, event)
  return blocks
}

/** True if this event changes the timeline; other events need no copy. */
export function touchesTimeline(event: SessionEvent): boolean {
  return !silent.has(event.type)
}

const silent: ReadonlySet<string> = new Set([
  'session.created',
  'session.configured',
  'session.renamed',
  'session.archived',
  'session.unarchived',
  'session.pinned',
  'session.unpinned',
  'agent.connected',
  'prompt.moved',
  'queue.paused',
  'queue.resumed',
  'turn.interrupted',
  'turn.resumed',
  'plan.updated',
  'task.updated',
  'usage.measured',
])

function apply(blocks: Block[], event: SessionEvent): void {
  switch (event.type) {
    case 'prompt.submitted':
      blocks.push({
        ...base(event, event.promptId),
        type: 'prompt',
        parts: event.parts,
        delivery: event.delivery,
        ...(event.outside && { outside: event.outside }),
        // A steered prompt waits until the agent takes it up.
        status: event.turnId && event.delivery === 'steer' ? 'queued' : 'sent',
      })
      return
    case 'prompt.queued':
      return replace(blocks, event.promptId, 'prompt', ({ turnId, ...block }) => ({
        ...block,
        status: 'queued',
      }))
    case 'prompt.taken':
      return takenUp(blocks, event)
    case 'prompt.withdrawn':
      return replace(blocks, event.promptId, 'prompt', (block) => ({ ...block, status: 'withdrawn' }))
    case 'turn.started':
      if (event.promptId === undefined) return notice(blocks, event, 'info', 'agent_turn', causeText(event))
      return replace(blocks, event.promptId, 'prompt', (block) => ({
        ...block,
        delivery: 'queue',
        status: 'sent',
        ...(event.turnId && { turnId: event.turnId }),
      }))
    case 'turn.ended': {
      const { seq, at, sessionId, turnId, type, version, ...end } = event
      leaveSteers(blocks, turnId)
      blocks.push({ ...base(event, `end:${turnId}`), type: 'turn-end', end })
      return
    }
    case 'turn.parked':
      return notice(blocks, event, 'info', 'turn_parked', parkText(event))
    case 'text.written':
    case 'thinking.written':
      blocks.push({
        ...base(event, event.blockId),
        type: event.type === 'text.written' ? 'text' : 'thinking',
        text: event.text,
        ...(event.interrupted && { interrupted: true }),
        ...parentOf(event),
      })
      return
    case 'block.retracted': {
      const index = indexOf(blocks, event.blockId)
      if (index >= 0) blocks.splice(index, 1)
      return
    }
    case 'tool-call.called':
      blocks.push({
        ...base(event, event.toolCallId),
        type: 'tool-call',
        name: event.name,
        kind: event.kind,
        title: event.title,
        input: event.input,
        ...(event.locations && { locations: event.locations }),
        status: 'running',
        content: [],
        ...(event.inferred && { inferred: true }),
        ...parentOf(event),
      })
      return
    case 'tool-call.updated': {
      const { title, kind, input, locations, content } = event
      return replace(blocks, event.toolCallId, 'tool-call', (block) => ({
        ...block,
        ...(title !== undefined && { title }),
        ...(kind !== undefined && { kind }),
        ...(input !== undefined && { input }),
        ...(locations !== undefined && { locations }),
        ...(content !== undefined && { content }),
      }))
    }
    case 'tool-call.ended':
      return replace(blocks, event.toolCallId, 'tool-call', (block) => ({
        ...block,
        status: event.outcome,
        content: event.content,
        endedAt: event.at,
      }))
    case 'permission.requested': {
      const { seq, at, sessionId, turnId, type, version, ...request } = event
      blocks.push({ ...base(event, event.requestId), type: 'permission', request })
      return
    }
    case 'question.asked': {
      const { seq, at, sessionId, turnId, type, version, ...request } = event
      blocks.push({ ...base(event, event.requestId), type: 'question', request })
      return
    }
    case 'permission.resolved': {
      const { seq, at, sessionId, turnId, type, version, ...resolution } = event
      return replace(blocks, event.requestId, 'permission', (block) => ({
        ...block,
        resolution,
        resolvedAt: at,
      }))
    }
    case 'question.resolved': {
      const { seq, at, sessionId, turnId, type, version, ...resolution } = event
      return replace(blocks, event.requestId, 'question', (block) => ({
        ...block,
        resolution,
        resolvedAt: at,
      }))
    }
    case 'agent.noticed':
      return notice(blocks, event, event.level, event.code, event.text)
    case 'agent.disconnected':
      return disconnected(blocks, event)
    case 'agent.unrecognised':
      blocks.push({ ...base(event, `event:${event.seq}`), type: 'unrecognised', native: event.native })
      return
    case 'context.compacted':
      return notice(blocks, event, 'info', 'context_compacted', compactionText(event))
    case 'session.released':
      return notice(blocks, event, 'info', 'session_released', releaseText)
    case 'session.forked':
      return notice(blocks, event, 'info', 'session_forked', `Forked into ${event.into}.`)
  }
}

/** The prompt moves to where it took effect, below what was said before. */
function takenUp(blocks: Block[], event: EventOf<'prompt.taken'>): void {
  const index = indexOf(blocks, event.promptId)
  const block = blocks[index]
  if (block?.type !== 'prompt') return
  blocks.splice(index, 1)
  const { seq, turnId = block.turnId } = event
  blocks.push({ ...block, seq, status: 'sent', ...(turnId && { turnId }) })
}

/** Logs from before `prompt.taken`, and turns that were lost, do not say whether a steered prompt was taken up. */
function leaveSteers(blocks: Block[], turnId: string | undefined): void {
  for (let index = blocks.length - 1; index >= 0; index--) {
    const block = blocks[index]!
    if (block.type === 'turn-end') return
    if (block.type !== 'prompt' || block.turnId !== turnId) continue
    if (block.status === 'queued' && block.delivery === 'steer') blocks[index] = { ...block, status: 'sent' }
  }
}

function disconnected(blocks: Block[], event: EventOf<'agent.disconnected'>): void {
  const text = lossText(event)
  // A server that was killed during a turn is reported by that turn; an idle session has lost nothing.
  const level = event.reason === 'server-killed' ? 'info' : 'error'
  if (text !== undefined) notice(blocks, event, level, 'agent_disconnected', text)
}

function notice(
  blocks: Block[],
  event: SessionEvent & { parentToolCallId?: string | undefined; error?: unknown },
  level: 'info' | 'warning' | 'error',
  code: string,
  text: string,
): void {
  const error = event.type === 'agent.disconnected' ? event.error : undefined
  blocks.push({
    ...base(event, `event:${event.seq}`),
    type: 'notice',
    level,
    code,
    text,
    ...(error && { error }),
    ...parentOf(event),
  })
}

function base(event: SessionEvent, id: string) {
  return { id, seq: event.seq, at: event.at, ...(event.turnId && { turnId: event.turnId }) }
}

function parentOf(event: { parentToolCallId?: string | undefined }) {
  return event.parentToolCallId ? { parentToolCallId: event.parentToolCallId } : {}
}

/** Searches from the end: the block that changes is nearly always a recent one. */
function indexOf(blocks: readonly Block[], id: string): number {
  let index = blocks.length - 1
  while (index >= 0 && blocks[index]!.id !== id) index--
  return index
}

function replace<Type extends Block['type']>(
  blocks: Block[],
  id: string,
  type: Type,
  change: (block: Extract<Block, { type: Type }>) => Block,
): void {
  const index = indexOf(blocks, id)
  const block = blocks[index]
  if (block?.type === type) blocks[index] = change(block as Extract<Block, { type: Type }>)
}
