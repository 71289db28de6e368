import type { OpenRequest, Prompt } from '@parley/protocol'
import { expect, it } from 'vitest'
import { awaitedTexts } from './awaited.logic.ts'

const { lastRow } = awaitedTexts('ses_1', 'laptop')
const requests: OpenRequest[] = []
const queue: Prompt[] = []
const prompt = (paused: boolean): Prompt => ({
  promptId: 'prm_1',
  delivery: 'queue',
  parts: [],
  at: 0,
  ...(paused && { paused }),
})

it('the page says that a session waits for its machine instead of counting the time of its turn', () => {
  expect(lastRow({ status: 'working', requests, queue })).toBe('Waits for laptop')
  expect(lastRow({ status: 'background', requests, queue })).toBe('Waits for laptop')
})

it('the page says when an answered turn continues', () => {
  const text = lastRow({ status: 'parked', requests, queue })
  expect(text).toBe('Answered; continues when laptop is back')
})

it('the page says that a queued prompt waits for the machine, unless it is paused', () => {
  expect(lastRow({ status: 'idle', requests, queue: [prompt(false)] })).toBe('Waits for laptop')
  expect(lastRow({ status: 'idle', requests, queue: [prompt(true)] })).toBeUndefined()
  expect(lastRow({ status: 'idle', requests, queue })).toBeUndefined()
})

it('the last row is empty while an open request waits for a person', () => {
  const open = [{ type: 'permission' } as OpenRequest]
  expect(lastRow({ status: 'waiting', requests: open, queue })).toBeUndefined()
  expect(lastRow({ status: 'parked', requests: open, queue })).toBeUndefined()
})
