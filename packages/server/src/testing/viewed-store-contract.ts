import { emptyState } from '@parley/protocol'
import type { SessionStore } from '../core/session-store.ts'
import { type ViewedStore, viewedMarkSize } from '../core/viewed-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'

type Store = SessionStore & ViewedStore

export type ViewedStoreUnderTest = {
  readonly store: Store
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<Store>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `ViewedStore`, for any store. */
export function viewedStoreContract(name: string, open: () => Promise<ViewedStoreUnderTest>): void {
  describe(`${name} satisfies the contract of a store of viewed files`, () => {
    let tested: ViewedStoreUnderTest
    let store: Store
    beforeEach(async () => {
      tested = await open()
      store = tested.store
      for (const sessionId of ['ses_a', 'ses_b']) await store.create(newSession(sessionId))
    })
    afterEach(() => tested.cleanup())

    it('keeps the marks of each person and session apart, in the order in which they were made', async () => {
      await store.markViewed('ses_a', 'per_a', [file('b', 1), file('a', 2)], plenty)
      await store.markViewed('ses_a', 'per_b', [file('a', 3)], plenty)
      await store.markViewed('ses_b', 'per_a', [file('a', 4)], plenty)
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual([file('b', 1), file('a', 2)])
      expect(await store.viewedFiles('ses_a', 'per_b')).toEqual([file('a', 3)])
      expect(await store.viewedFiles('ses_b', 'per_a')).toEqual([file('a', 4)])
      expect(await store.viewedFiles('ses_b', 'per_b')).toEqual([])
    })

    it('keeps one mark for a file, of the content that was marked last', async () => {
      await store.markViewed('ses_a', 'per_a', [file('a', 1), file('b', 2)], plenty)
      await store.markViewed('ses_a', 'per_a', [file('a', 3), file('c', 4), file('c', 5)], plenty)
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual([file('b', 2), file('a', 3), file('c', 5)])
    })

    it('removes the mark of a file without a blob', async () => {
      await store.markViewed('ses_a', 'per_a', [file('a', 1), file('b', 2)], plenty)
      await store.markViewed('ses_a', 'per_a', [unmarked('a'), unmarked('never')], plenty)
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual([file('b', 2)])
    })

    it('drops the oldest marks of a person if they are too large, and no others', async () => {
      await store.markViewed('ses_a', 'per_b', [file('old', 1)], plenty)
      const files = ['aa', 'bb', 'cc', 'dd'].map((path, n) => file(path, n))
      for (const one of files) await store.markViewed('ses_a', 'per_a', [one], 2 * (viewedMarkSize + 2))
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual(files.slice(2))
      await store.markViewed('ses_a', 'per_a', [file('e'.repeat(3), 9)], 2 * (viewedMarkSize + 2))
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual([file('eee', 9)])
      expect(await store.viewedFiles('ses_a', 'per_b')).toEqual([file('old', 1)])
    })

    it('keeps paths with unusual characters', async () => {
      const awkward = ['"; --é', 'a\nb\t\u0001', ' \\u0000 ', '\u{1f642}/%']
      const files = awkward.map((path, n) => file(path, n))
      await store.markViewed('ses_a', 'per_a', files, plenty)
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual(files)
    })

    it('keeps every mark when several are made at once', async () => {
      const files = Array.from({ length: 20 }, (_, n) => file(`f${n}`, n))
      await Promise.all(files.map((one) => store.markViewed('ses_a', 'per_a', [one], plenty)))
      const found = await store.viewedFiles('ses_a', 'per_a')
      expect(found.toSorted((a, b) => Number.parseInt(a.blob, 16) - Number.parseInt(b.blob, 16))).toEqual(
        files,
      )
    })

    it('deletes the marks of a session with the session, and stores none for an unknown one', async () => {
      await store.markViewed('ses_a', 'per_a', [file('a', 1)], plenty)
      await store.markViewed('ses_b', 'per_a', [file('b', 2)], plenty)
      await store.delete('ses_a')
      await store.markViewed('ses_a', 'per_a', [file('c', 3)], plenty)
      await store.create(newSession('ses_a'))
      expect(await store.viewedFiles('ses_a', 'per_a')).toEqual([])
      expect(await store.viewedFiles('ses_b', 'per_a')).toEqual([file('b', 2)])
    })

    it('keeps marks when it is reopened, or states why it cannot be reopened', async () => {
      await store.markViewed('ses_a', 'per_a', [file('a', 1)], plenty)
      if (!tested.reopen) return expect(tested.notDurable).toMatch(/\w/)
      expect(await (await tested.reopen()).viewedFiles('ses_a', 'per_a')).toEqual([file('a', 1)])
    })
  })
}

const plenty = 100_000
const file = (path: string, blob: number) => ({ path, blob: blob.toString(16).padStart(40, '0') })
const unmarked = (path: string) => ({ path, blob: null })
const newSession = (sessionId: string) => ({
  ...{ sessionId, epoch: `epo_${sessionId}`, events: [] },
  state: emptyState(sessionId, `epo_${sessionId}`),
})
