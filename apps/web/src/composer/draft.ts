import { createStore, type Store } from '../page/store.ts'

/** What is written and not sent, of each session. It survives a reload; pictures and files do not. */
const drafts = new Map<string, Store<string>>()
const keyOf = (sessionId: string) => `parley:draft:${sessionId}`

export function draftOf(sessionId: string): Store<string> {
  const known = drafts.get(sessionId)
  if (known) return known
  const made = createStore(read(sessionId))
  made.subscribe(() => keep(sessionId, made.get()))
  drafts.set(sessionId, made)
  return made
}

/** Gives back what could not be sent, if nothing else was written meanwhile. */
export function restoreDraft(sessionId: string, text: string): void {
  const draft = draftOf(sessionId)
  if (draft.get().trim() === '') draft.set(text)
}

function read(sessionId: string): string {
  try {
    return localStorage.getItem(keyOf(sessionId)) ?? ''
  } catch {
    return ''
  }
}

function keep(sessionId: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(keyOf(sessionId))
    else localStorage.setItem(keyOf(sessionId), text)
  } catch {}
}
