import { expect, it } from 'vitest'
import { UnrecognisedCount } from './host-observer.ts'

const kindOf = (native: unknown, reason?: string) => {
  const count = new UnrecognisedCount()
  count.add({ native, at: 1, ...(reason !== undefined && { reason }) })
  return count.total?.kinds[0]?.kind
}

it.each([
  [{ type: 'system', subtype: 'dance' }, 'a message of type system/dance', 'a message of type system/dance'],
  [{ method: 'turn/completed' }, 'not of the expected shape', 'turn/completed: not of the expected shape'],
  [
    { method: 'session/update', params: { update: { sessionUpdate: 'hologram' } } },
    'an update of type hologram',
    'session/update/hologram: an update of type hologram',
  ],
  [{ type: 'text.written', text: 'sage' }, 'outside a turn', 'text.written: outside a turn'],
  [{ type: 7, params: 'x' }, undefined, 'a message without a name'],
  ['hello', 'not a\n JSON-RPC message', 'not a JSON-RPC message'],
  [{ type: 'x'.repeat(1000) }, undefined, 'x'.repeat(120)],
])('names the kind of %j', (native, reason, kind) => {
  expect(kindOf(native, reason)).toBe(kind)
})

it('counts nothing until there is a message', () => {
  expect(new UnrecognisedCount().total).toBeUndefined()
})
