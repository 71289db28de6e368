import type { PromptPart } from '@parley/protocol'
import { createStore, type Store } from '../base/store.ts'
import { cachedParts, cacheParts } from '../session-data/cache.ts'
import { type Attachment, apart, sizeOf } from './attachment.logic.ts'

/** The unsent text of each session. It survives a reload, as do its attachments. */
export const draftOf = ofEachSession((sessionId) => {
  const made = kept(`parley:draft:${sessionId}`, String, String)
  made.subscribe(() => leavePlace(sessionId))
  return made
})

/** Stands for the session id of a session that does not exist yet. */
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

/** Why the last prompt was refused, until the person dismisses the note or sends a prompt. */
export const refusalOf = ofEachSession(() => createStore<string | undefined>(undefined))

let nextId = 1

export function attachment(part: PromptPart): Attachment {
  return { id: nextId++, part, size: sizeOf(part) }
}

/** The place in the queue of a prompt that is being edited, so that it returns there. */
export type QueuePlace = {
  /** The prompts that came after it. */
  readonly followers: readonly string[]
  readonly paused: boolean
}

const noPlace: QueuePlace = { followers: [], paused: false }
const pausedWord = 'paused'

export const placeOf = ofEachSession((sessionId) =>
  kept<QueuePlace>(
    `parley:followers:${sessionId}`,
    (text) => {
      const words = text.split(' ').filter(Boolean)
      return { followers: words.filter((word) => word !== pausedWord), paused: words.includes(pausedWord) }
    },
    ({ followers, paused }) => [...(paused ? [pausedWord] : []), ...followers].join(' '),
  ),
)

/** The place of the edited prompt. It is used once: the next prompt has none. */
export function takePlace(sessionId: string): QueuePlace {
  const place = placeOf(sessionId).get()
  placeOf(sessionId).set(noPlace)
  return place
}

/** Forgets the place when the draft is empty. */
function leavePlace(sessionId: string): void {
  if (draftOf(sessionId).get() === '' && attachedTo(sessionId).get().length === 0)
    placeOf(sessionId).set(noPlace)
}

/** Called when a session was deleted. */
export function forgetDraftOf(sessionId: string): void {
  draftOf(sessionId).set('')
  placeOf(sessionId).set(noPlace)
  cacheParts(sessionId, [])
}

/** Puts a whole prompt back into the composer, before the text that was written meanwhile. */
export function putBack(sessionId: string, parts: readonly PromptPart[], place: QueuePlace = noPlace): void {
  const { text, rest } = apart(parts)
  draftOf(sessionId).set((before) => [text, before].filter((words) => words.trim() !== '').join('\n\n'))
  attachedTo(sessionId).set((before) => [...rest.map(attachment), ...before])
  // Of several edited prompts, the earliest place counts.
  placeOf(sessionId).set((before) => ({
    followers: place.followers.length > before.followers.length ? place.followers : before.followers,
    paused: place.paused || before.paused,
  }))
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

/** A store that is kept in local storage as text. An empty state removes its entry. */
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
