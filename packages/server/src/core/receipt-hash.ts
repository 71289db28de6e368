import type { Actor } from '@parley/protocol'
import { hashOf } from './hash.ts'

/**
 * Identifies a command and its sender in a receipt. A signature does not count: a browser that sends a command again
 * signs it again, with another result. A command with the same id from another device or token is another
 * command. Receipts of earlier versions and of programs that name no actor have no sender.
 */
export function receiptHash(given: object, by: Actor | undefined): string {
  const { signature: _, ...command } = given as { signature?: unknown }
  const sender = by?.device?.id ?? by?.token?.id ?? by?.link?.id ?? by?.person.id
  return sender === undefined ? hashOf(command) : `${hashOf(command)} ${sender}`
}

/**
 * True if two receipts are for the same command of the same sender. A receipt without a sender matches any sender. A
 * receipt without a hash, which a redaction has removed, matches any command.
 */
export function isSameSender(one: string, other: string): boolean {
  if (one === other) return true
  const [[first, sender], [second, otherSender]] = [one.split(' '), other.split(' ')]
  return (
    (first === second || first === '' || second === '') &&
    (sender === otherSender || sender === undefined || otherSender === undefined)
  )
}
