import type { Actor, EventDraft } from '@parley/protocol'

/** Events that follow from another event of the same command. That event names the actor. */
const consequences: ReadonlySet<EventDraft['type']> = new Set([
  'turn.started',
  'turn.ended',
  'agent.disconnected',
])

/** The drafts of a command, with the actor that sent the command. */
export function causedBy(actor: Actor | undefined, drafts: readonly EventDraft[]): readonly EventDraft[] {
  if (!actor) return drafts
  return drafts.map((draft) => (consequences.has(draft.type) ? draft : { ...draft, actor }))
}
