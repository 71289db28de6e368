import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { eventTypes } from '@parley/protocol'
import { expect, it } from 'vitest'
import { withListedEvents } from './listed-events.ts'

it('the page knows the events that the protocol knows', () => {
  const file = new URL('../../../packages/protocol/src/event.ts', import.meta.url)
  const code = withListedEvents(readFileSync(fileURLToPath(file), 'utf8'))
  const [, list = '[]'] = /^export const eventTypes = new Set\((\[.*\])\)$/m.exec(code) ?? []
  expect(JSON.parse(list)).toEqual([...eventTypes])
  expect(() => withListedEvents('const other = 1')).toThrow(/another format/)
})
