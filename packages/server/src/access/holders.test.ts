import { expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { Holders } from './holders.ts'

it('a token that is revoked while the records are read stays revoked', async () => {
  const store = createMemoryStore()
  const data = { name: 'ci', hash: 'x', hint: 'x' }
  await store.putAccessRecord({ kind: 'token', id: 'tok_1', data, createdAt: 1 })
  let answer = Promise.resolve()
  let haveRead = Promise.withResolvers<void>()
  const accessRecords = async () => {
    const records = await store.accessRecords()
    haveRead.resolve()
    await answer
    return records
  }
  const holders = new Holders({ ...store, accessRecords }, 'owner')
  await holders.load()
  const slow = Promise.withResolvers<void>()
  answer = slow.promise
  haveRead = Promise.withResolvers()
  const reading = holders.reload()
  const token = holders.get('token', 'tok_1')
  if (!token) throw new Error('The token is not loaded.')
  expect(holders.callerOf(token)).toBeDefined()
  // The records were read before the revocation, and arrive after it.
  await haveRead.promise
  await holders.retire(token)
  slow.resolve()
  await reading
  expect(holders.callerOf(token)).toBeUndefined()
})
