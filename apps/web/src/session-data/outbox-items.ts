import type { TextStorage } from '../base/browser-storage.ts'
import { createStore } from '../base/store.ts'

/** The fields that the outbox adds to each item. */
export type Envelope = {
  readonly commandId: string
  readonly tab: string
  /** sending: just added. late: not accepted yet. held: sent only when the person confirms it. sent: accepted. */
  readonly state: 'sending' | 'late' | 'held' | 'sent'
  /** True if the item was not accepted at once. */
  readonly waited: boolean
  /** The reason why the item is held, as a text for people. */
  readonly problem?: string
}

/**
 * The items of an outbox, oldest first, in memory and in storage. Each has its own storage key, so that two tabs
 * cannot overwrite each other's items. Items that cannot be stored are kept in memory.
 */
export class OutboxItems<Item extends Envelope> {
  readonly #store = createStore<readonly Item[]>([])
  readonly #storage: TextStorage
  readonly #prefix: string
  readonly #isContent: (value: object) => boolean
  /** The ids of items that did not fit into storage. */
  readonly #unstored = new Set<string>()

  constructor(storage: TextStorage, prefix: string, isContent: (value: object) => boolean) {
    this.#storage = storage
    this.#prefix = prefix
    this.#isContent = isContent
  }

  readonly get = this.#store.get
  readonly subscribe = this.#store.subscribe

  find(commandId: string): Item | undefined {
    return this.get().find((item) => item.commandId === commandId)
  }

  /** Reads the stored items again. Items that only this page has are kept. */
  load(): void {
    const isOnlyHere = ({ state, commandId }: Item) => state === 'sent' || this.#unstored.has(commandId)
    const keys = this.#keys()
    if (!keys) return
    const here = this.get().filter(isOnlyHere)
    const stored = keys.flatMap((key) => this.#read(key) ?? [])
    this.#set([...here, ...stored.filter(({ commandId }) => !this.#unstored.has(commandId))])
  }

  /** Removes stored texts that are not items. Items written by a newer version of the page are kept. */
  removeUnreadable(): void {
    for (const key of this.#keys() ?? []) {
      const version: unknown = this.#parse(key)?.version
      const isNewer = Number.isInteger(version) && Number(version) > itemVersion
      if (!isNewer && !this.#read(key)) this.#erase(key)
    }
  }

  put(item: Item): void {
    try {
      this.#storage.set(this.#prefix + item.commandId, JSON.stringify({ version: itemVersion, ...item }))
      this.#unstored.delete(item.commandId)
    } catch {
      this.#unstored.add(item.commandId)
    }
    this.#set([...this.#without(item.commandId), item])
  }

  remove(commandId: string): void {
    this.#forget(commandId)
    this.#set(this.#without(commandId))
  }

  /** Removes an accepted item from storage. Keeps the last `count` accepted items in memory. */
  markSent(commandId: string, count: number): void {
    this.#forget(commandId)
    const marked = this.get().map((item) =>
      item.commandId === commandId ? { ...item, state: 'sent' as const } : item,
    )
    const sent = marked.filter(({ state }) => state === 'sent')
    const dropped = new Set(sent.slice(0, Math.max(0, sent.length - count)))
    this.#set(marked.filter((item) => !dropped.has(item)))
  }

  #set(items: readonly Item[]): void {
    this.#store.set(items.toSorted((one, other) => (one.commandId < other.commandId ? -1 : 1)))
  }

  #without(commandId: string): readonly Item[] {
    return this.get().filter((item) => item.commandId !== commandId)
  }

  #forget(commandId: string): void {
    this.#unstored.delete(commandId)
    this.#erase(this.#prefix + commandId)
  }

  #erase(key: string): void {
    try {
      this.#storage.remove(key)
    } catch {}
  }

  /** The storage keys of all items; undefined if the storage cannot be read. */
  #keys(): readonly string[] | undefined {
    try {
      return this.#storage.keys().filter((key) => key.startsWith(this.#prefix))
    } catch {
      return undefined
    }
  }

  #read(key: string): Item | undefined {
    const { version = itemVersion, ...value } = this.#parse(key) ?? {}
    const { commandId, tab, state = '' } = value
    const isEnvelope =
      key === this.#prefix + commandId && Boolean(tab) && ['sending', 'late', 'held'].includes(state)
    const isItem = isEnvelope && version === itemVersion && this.#isContent(value)
    return isItem ? (value as unknown as Item) : undefined
  }

  #parse(key: string): Partial<Stored> | undefined {
    try {
      return Object(JSON.parse(this.#storage.get(key) ?? 'null'))
    } catch {
      return undefined
    }
  }
}

/** The version of the stored format. Items without a version have version 1. */
const itemVersion = 1
type Stored = Envelope & { readonly version: number }
