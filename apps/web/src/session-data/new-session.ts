import type { PermissionMode } from '@parley/protocol'
import { createPersistedStore } from '../base/persisted-store.ts'
import { navigate } from '../base/route.ts'

/** The choices for the new session. By default, the agent and the folder are those of the previous session. */
export type NewSessionChoices = {
  readonly agent?: string
  readonly folder?: string
  readonly mode?: PermissionMode
  readonly model?: string
  readonly effort?: string
  /** The agents and models that all get the prompt. Absent: one agent gets it. */
  readonly attempts?: readonly ChosenAttempt[]
}

/** `agent` is absent while the person has not chosen one. */
export type ChosenAttempt = { readonly agent?: string; readonly model?: string }

export const newSessionChoices = createPersistedStore<NewSessionChoices>('new-session', {})

export function changeNewSession(change: NewSessionChoices): void {
  newSessionChoices.set((before) => ({ ...before, ...change }))
}

/** Opens the page for a new session with a folder. The other choices and the prompt stay as they are. */
export function startIn(folder: string): void {
  changeNewSession({ folder })
  navigate({ name: 'new' })
}
