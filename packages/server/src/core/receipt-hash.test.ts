import { expect, it } from 'vitest'
import { isSameSender, receiptHash } from './receipt-hash.ts'

const by = (id: string) => ({
  person: { id: 'per_a', name: 'Ada' },
  device: { id, name: 'Phone' },
  via: 'http' as const,
})
const submit = { type: 'prompt.submit', commandId: 'cmd_1', text: 'The password is hunter2.' }

it('a receipt whose hash a redaction has removed matches the command of the same sender only', () => {
  const [phone, tablet] = [receiptHash(submit, by('dev_phone')), receiptHash(submit, by('dev_tablet'))]
  expect(isSameSender(phone, phone)).toBe(true)
  expect(isSameSender(phone, tablet)).toBe(false)
  const removed = phone.replace(/^[^ ]*/, '')
  expect(removed).toBe(' dev_phone')
  expect(isSameSender(removed, phone)).toBe(true)
  expect(isSameSender(removed, tablet)).toBe(false)
  expect(isSameSender('', tablet)).toBe(true)
})
