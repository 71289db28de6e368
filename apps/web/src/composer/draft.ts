import type { PromptPart } from '@parley/protocol'
import { cachedParts, cacheParts } from '../cache/cache.ts'
import { createStore, type Store } from '../page/store.ts'
import { type Attachment, apart, sizeOf } from './attachment.logic.ts'

/** What is written and not sent, of each session, and what goes along with it. Both survive a reload. */
export const draftOf = ofEachSession((sessionId) => {
  const made = createStore(read(sessionId))
  made.subscribe(() => keep(sessionId, made.get()))
  return made
})

export const attachedTo = ofEachSession((sessionId) => {
  const made = createStore<readonly Attachment[]>([])
  const keepParts = () =>
    cacheParts(
      sessionId,
      made.get().map(({ part }) => part),
    )
  void cachedParts(sessionId).then((kept) => {
    if (kept.length > 0) made.set((before) => [...kept.map(attachment), ...before])
    made.subscribe(keepParts)
    if (made.get().length !== kept.length) keepParts()
  })
  return made
})

/** Why the last prompt came back, until it is dismissed or something is sent. */
export const refusalOf = ofEachSession(() => createStore<string | undefined>(undefined))

let nextId = 1

export function attachment(part: PromptPart): Attachment {
  return { id: nextId++, part, size: sizeOf(part) }
}

/** The prompts that came after the one that is written anew, so that it comes before them again. */
export const followersOf = ofEachSession(() => createStore<readonly string[]>([]))

/** Gives a prompt back to be written anew, whole, in front of what was written meanwhile. */
export function putBack(
  sessionId: string,
  parts: readonly PromptPart[],
  followers: readonly string[] = [],
): void {
  // Of several, the earliest place.
  followersOf(sessionId).set((before) => (followers.length > before.length ? followers : before))
  const { text, rest } = apart(parts)
  draftOf(sessionId).set((before) => [text, before].filter((words) => words.trim() !== '').join('\n\n'))
  attachedTo(sessionId).set((before) => [...rest.map(attachment), ...before])
}

function ofEachSession<State>(
  make: (sessionId: string) => Store<State>,
): (sessionId: string) => Store<State> {
  const known = new Map<string, Store<State>>()
  return (sessionId) => {
    const store = known.get(sessionId) ?? make(sessionId)
    known.set(sessionId, store)
    return store
  }
}

function keyOf(sessionId: string): string {
  return `parley:draft:${sessionId}`
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
