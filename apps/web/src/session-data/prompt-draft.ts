import type { PromptPart } from '@parley/protocol'
import type { TextStorage } from '../base/browser-storage.ts'
import { cached } from '../base/cached.ts'
import { createStore, type Store } from '../base/store.ts'
import { type Attachment, createAttachment, splitPrompt } from './attachment.logic.ts'

/** Attachments may be large and are therefore stored separately. The id is that of a session or of a command. */
export type AttachmentStorage = {
  read(id: string): Promise<readonly PromptPart[]>
  /** An empty list removes the entry. */
  write(id: string, parts: readonly PromptPart[]): void
}

/** The former place of an edited prompt in the queue, to which the prompt returns. */
export type QueuePlace = {
  /** The ids of the prompts that followed the edited prompt. */
  readonly followers: readonly string[]
  readonly paused: boolean
}

/** The unsent prompt of a session. Text, attachments and place survive a reload. */
export type PromptDraft = {
  readonly text: Store<string>
  readonly attachments: Store<readonly Attachment[]>
  readonly place: Store<QueuePlace>
  /** The reason why the last prompt was refused, until the person dismisses the note or sends a prompt. */
  readonly refusal: Store<string | undefined>
  /** Puts a whole prompt back into the draft, before text that was written since the prompt was sent. */
  putBack(parts: readonly PromptPart[], place?: QueuePlace): void
  clear(): void
}

/** Stands for the session id of a session that does not exist yet. */
export const newSessionKey = 'new'

const noPlace: QueuePlace = { followers: [], paused: false }

type Storages = { readonly storage: TextStorage; readonly attachments: AttachmentStorage }

/** Returns a function that returns the draft of a session. Each draft is read from storage when it is first used. */
export function createPromptDrafts(storages: Storages): (sessionId: string) => PromptDraft {
  return cached((sessionId) => createDraft(sessionId, storages))
}

function createDraft(sessionId: string, { storage, attachments: files }: Storages): PromptDraft {
  const text = createTextStore(storage, `parley:draft:${sessionId}`, String, String)
  const attachments = createAttachmentStore(sessionId, files)
  const place = createTextStore(storage, `parley:followers:${sessionId}`, parsePlace, formatPlace)
  const forgetPlaceIfEmpty = () => {
    if (text.get() === '' && attachments.get().length === 0) place.set(noPlace)
  }
  text.subscribe(forgetPlaceIfEmpty)
  attachments.subscribe(forgetPlaceIfEmpty)
  return {
    text,
    attachments,
    place,
    refusal: createStore<string | undefined>(undefined),
    putBack(parts, { followers, paused } = noPlace) {
      const { text: words, attached } = splitPrompt(parts)
      text.set((before) => [words, before].filter((one) => one.trim() !== '').join('\n\n'))
      attachments.set((before) => [...attached.map(createAttachment), ...before])
      // If several edited prompts are put back, the earliest of their places is kept.
      place.set((before) => ({
        followers: followers.length > before.followers.length ? followers : before.followers,
        paused: paused || before.paused,
      }))
    },
    clear() {
      text.set('')
      attachments.set([])
      place.set(noPlace)
      files.write(sessionId, [])
    },
  }
}

/**
 * The attachments of a draft. Stored attachments are read asynchronously, and put before attachments that
 * were added during the read. Nothing is written to storage before the read has ended.
 */
function createAttachmentStore(sessionId: string, files: AttachmentStorage): Store<readonly Attachment[]> {
  const store = createStore<readonly Attachment[]>([])
  const write = () =>
    files.write(
      sessionId,
      store.get().map(({ part }) => part),
    )
  void files.read(sessionId).then((stored) => {
    if (stored.length > 0) store.set((before) => [...stored.map(createAttachment), ...before])
    store.subscribe(write)
    if (store.get().length !== stored.length) write()
  })
  return store
}

const pausedWord = 'paused'

function parsePlace(text: string): QueuePlace {
  const words = text.split(' ').filter(Boolean)
  return { followers: words.filter((word) => word !== pausedWord), paused: words.includes(pausedWord) }
}

function formatPlace({ followers, paused }: QueuePlace): string {
  return [...(paused ? [pausedWord] : []), ...followers].join(' ')
}

/** A store that is kept in storage as text. An empty text removes its entry. */
function createTextStore<State>(
  storage: TextStorage,
  key: string,
  parse: (text: string) => State,
  format: (state: State) => string,
): Store<State> {
  const store = createStore(parse(attempt(() => storage.get(key)) ?? ''))
  store.subscribe(() => {
    const text = format(store.get())
    attempt(() => (text === '' ? storage.remove(key) : storage.set(key, text)))
  })
  return store
}

/**
 * Runs `work` on the storage; returns undefined if it throws. If storage is unavailable (a private window, a full
 * disk), a draft lasts until the page is closed.
 */
function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
