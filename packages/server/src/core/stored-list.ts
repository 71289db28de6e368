/** A copy of stored settings in memory. */
export type SettingsCopy = {
  /** Reads the settings again. Resolves when the new settings apply. */
  reload(): Promise<void>
}

/**
 * A list of stored settings in memory. A local change that is made while the list is read again is not lost: the list
 * is then read once more.
 */
export class StoredList<Item> {
  readonly #read: () => Promise<readonly Item[]>
  #items: readonly Item[] = []
  #changes = 0

  private constructor(read: () => Promise<readonly Item[]>) {
    this.#read = read
  }

  static async load<Item>(read: () => Promise<readonly Item[]>): Promise<StoredList<Item>> {
    const list = new StoredList(read)
    await list.reload()
    return list
  }

  get items(): readonly Item[] {
    return this.#items
  }

  /** Replaces the items after a change was stored. */
  set items(items: readonly Item[]) {
    this.#items = items
    this.#changes++
  }

  async reload(): Promise<void> {
    for (;;) {
      const before = this.#changes
      const items = await this.#read()
      if (before !== this.#changes) continue
      this.#items = items
      return
    }
  }
}
