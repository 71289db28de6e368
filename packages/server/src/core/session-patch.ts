import { type EventDraft, ParleyError, type SessionPatch, type SessionState } from '@parley/protocol'

/** The events for a change of a session's title, archive or pin. Pure; empty if nothing changes. */
export function patchDrafts(state: SessionState, patch: SessionPatch): EventDraft[] {
  const drafts: EventDraft[] = []
  const { title, archived, pinned } = patch
  if (title !== undefined && title !== state.title)
    drafts.push({ type: 'session.renamed', title, by: 'person' })
  if (archived !== undefined && archived !== state.archived) {
    if (archived && state.turn)
      throw new ParleyError('conflict', 'A turn is open. Cancel it, then archive the session.')
    drafts.push({ type: archived ? 'session.archived' : 'session.unarchived' })
  }
  if (pinned !== undefined && pinned !== state.pinned) {
    drafts.push({ type: pinned ? 'session.pinned' : 'session.unpinned' })
  }
  return drafts
}
