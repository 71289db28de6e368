import { createPersistedStore } from '../base/persisted-store.ts'
import { setPreferences } from '../base/preferences.ts'

/** The turns that the person has expanded or collapsed, by session and by the key of the turn. */
type Choices = { readonly [sessionId: string]: SessionChoices | undefined }
export type SessionChoices = { readonly [turn: string]: boolean }

const maxSessions = 50
const maxTurns = 200

/** Stored in this browser, for the sessions in which the person last collapsed or expanded a turn. */
export const turnChoices = createPersistedStore<Choices>('turns', {})

export function chooseTurn(sessionId: string, turn: string, open: boolean): void {
  turnChoices.set(({ [sessionId]: chosen = {}, ...others }) => {
    const { [turn]: _, ...rest } = chosen
    return lastOf({ ...others, [sessionId]: lastOf({ ...rest, [turn]: open }, maxTurns) }, maxSessions)
  })
}

/**
 * Collapses the old turns of all sessions, or expands all turns. Overrides the person's choices for single
 * turns.
 */
export function collapseOldTurns(collapse: boolean): void {
  turnChoices.set({})
  setPreferences({ collapseTurns: collapse })
}

function lastOf<Value>(entries: { readonly [key: string]: Value }, count: number) {
  return Object.fromEntries(Object.entries(entries).slice(-count))
}
