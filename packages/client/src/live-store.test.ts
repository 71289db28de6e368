import { expect, test } from 'vitest'
import { createBatchedStore, nextMicrotask } from './live-store.ts'

test('many changes are combined into one snapshot and one notification', async () => {
  let value = 0
  const store = createBatchedStore(() => ({ value }), nextMicrotask)
  let reported = 0
  store.subscribe(() => reported++)
  const first = store.getSnapshot()
  for (value = 1; value < 5; value++) store.touch()
  expect(store.getSnapshot()).toBe(first)
  await Promise.resolve()
  expect(store.getSnapshot()).toEqual({ value: 5 })
  expect(reported).toBe(1)
})

test('a flush cancels the scheduled one', async () => {
  const store = createBatchedStore(() => ({}), nextMicrotask)
  let reported = 0
  store.subscribe(() => reported++)
  store.touch()
  store.touch('later')
  store.flush()
  await Promise.resolve()
  expect(reported).toBe(1)
})

test('a flood of changes delays the snapshot, but not for ever', async () => {
  const store = createBatchedStore(() => ({}), nextMicrotask)
  const { promise, resolve } = Promise.withResolvers<void>()
  store.subscribe(resolve)
  const before = store.getSnapshot()
  store.touch('later')
  await Promise.resolve()
  expect(store.getSnapshot()).toBe(before)
  await promise
  const after = store.getSnapshot()
  expect(after).not.toBe(before)
  const again = new Promise<void>((done) => store.subscribe(done))
  store.touch('later')
  await again
  expect(store.getSnapshot()).not.toBe(after)
})
