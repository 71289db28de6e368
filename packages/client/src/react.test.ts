import { createElement, isValidElement } from 'react'
import { expect, test } from 'vitest'
import { startRealServer } from '../testing/real-server.ts'
import { ParleyProvider, sharedMirror } from './react.ts'
import { createSharedStore } from './shared-store.ts'

function countingStore() {
  let made = 0
  let closed = 0
  const shared = createSharedStore(
    () => {
      made++
      const snapshot = { made }
      return { subscribe: () => () => {}, getSnapshot: () => snapshot, close: () => void closed++ }
    },
    { made: 0 },
  )
  return { shared, counts: () => ({ made, closed }) }
}
const endOfTask = () => new Promise((resolve) => setTimeout(resolve, 0))

test('a shared store exists from the first subscriber to the last', async () => {
  const { shared, counts } = countingStore()
  expect(shared.getSnapshot()).toEqual({ made: 0 })
  expect(shared.getSnapshot()).toBe(shared.getSnapshot())
  const leaveOne = shared.subscribe(() => {})
  const leaveOther = shared.subscribe(() => {})
  expect(shared.getSnapshot()).toEqual({ made: 1 })
  leaveOne()
  leaveOne()
  await endOfTask()
  expect(counts()).toEqual({ made: 1, closed: 0 })
  leaveOther()
  await endOfTask()
  expect(counts()).toEqual({ made: 1, closed: 1 })
  expect(shared.getSnapshot()).toEqual({ made: 0 })
})

test('a view that is unmounted and mounted again at once keeps its store', async () => {
  const { shared, counts } = countingStore()
  shared.subscribe(() => {})()
  shared.subscribe(() => {})
  await endOfTask()
  expect(counts()).toEqual({ made: 1, closed: 0 })
})

test('all components that show a session share one mirror of it', async () => {
  await using server = await startRealServer()
  const client = server.client()
  const id = await server.create('Shared')
  const shared = sharedMirror(client, id)
  expect(sharedMirror(client, id)).toBe(shared)
  expect(shared.getSnapshot()).toMatchObject({ status: 'loading' })
  const leave = shared.subscribe(() => {})
  const snapshot = await shared.current?.until(({ status }) => status === 'live')
  expect(shared.getSnapshot()).toBe(snapshot)
  expect(snapshot?.view.state.title).toBe('Shared')
  leave()
  await endOfTask()
  expect(shared.current).toBeUndefined()
})

test('the provider is an ordinary element', async () => {
  await using server = await startRealServer()
  const element = createElement(ParleyProvider, { client: server.client() }, 'children')
  expect(isValidElement(element)).toBe(true)
  expect(isValidElement(ParleyProvider(element.props))).toBe(true)
})
