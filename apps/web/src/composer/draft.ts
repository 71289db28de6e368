import type { PromptPart } from '@parley/protocol'
import { cachedParts, cacheParts } from '../cache/cache.ts'
import { createStore, type Store } from '../page/store.ts'
import { type Attachment, apart, sizeOf } from './attachment.logic.ts'

/** What is written and not sent, of each session, and what goes along with it. All of it survives a reload. */
export const draftOf = ofEachSession((sessionId) => {
  const made = kept(`parley:draft:${sessionId}`, String, String)
  made.subscribe(() => leavePlace(sessionId))
  return made
})

/** In place of a session's id, while there is none. */
export const newSessionKey = 'new'

export const attachedTo = ofEachSession((sessionId) => {
  const made = createStore<readonly Attachment[]>([])
  const keepParts = () =>
    cacheParts(
      sessionId,
      made.get().map(({ part }) => part),
    )
  void cachedParts(sessionId).then((kept) => {
    if (kept.length > 0) made.set((before) => [...kept.map(attachment), ...before])
    made.subscribe(() => {
      keepParts()
      leavePlace(sessionId)
    })
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
export const followersOf = ofEachSession((sessionId) =>
  kept<readonly string[]>(
    `parley:followers:${sessionId}`,
    (text) => text.split(' ').filter(Boolean),
    (ids) => ids.join(' '),
  ),
)

/** What is written from nothing has no place. */
function leavePlace(sessionId: string): void {
  if (draftOf(sessionId).get() === '' && attachedTo(sessionId).get().length === 0)
    followersOf(sessionId).set([])
}

/** Of a session that is gone. */
export function forgetDraftOf(sessionId: string): void {
  draftOf(sessionId).set('')
  followersOf(sessionId).set([])
  cacheParts(sessionId, [])
}

/** Gives a prompt back to be written anew, whole, in front of what was written meanwhile. */
export function putBack(
  sessionId: string,
  parts: readonly PromptPart[],
  followers: readonly string[] = [],
): void {
  const { text, rest } = apart(parts)
  draftOf(sessionId).set((before) => [text, before].filter((words) => words.trim() !== '').join('\n\n'))
  attachedTo(sessionId).set((before) => [...rest.map(attachment), ...before])
  // Of several, the earliest place.
  followersOf(sessionId).set((before) => (followers.length > before.length ? followers : before))
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

/** In this browser, as text; nothing of what is empty. */
function kept<State>(
  key: string,
  fromText: (text: string) => State,
  toText: (state: State) => string,
): Store<State> {
  const made = createStore(fromText(read(key)))
  made.subscribe(() => keep(key, toText(made.get())))
  return made
}

function read(key: string): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

function keep(key: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {}
}
