import { z } from 'zod'
import { Lifetime, Limits, PersonName, Scopes } from './people.ts'

/**
 * The letters of pairing codes: those that cannot be mistaken for another letter, so 0, 1, I and O are missing. There
 * are 32, so each letter has five random bits.
 */
export const pairingLetters = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

/** The number of random letters in a pairing code. */
export const pairingCodeLength = 12

/** The number of further letters, which name the node that made the code, if several servers share a database. */
export const pairingNodeLength = 4

const pairingCode = new RegExp(
  `^[${pairingLetters}]{${pairingCodeLength}}([${pairingLetters}]{${pairingNodeLength}})?$`,
)

/** The letters of a pairing code as a person has typed it. Undefined if the text is not a pairing code. */
export function pairingCodeOf(text: string): string | undefined {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  return pairingCode.test(letters) ? letters : undefined
}

/** A pairing code as it is shown: in groups of four letters. */
export function groupedCode(letters: string): string {
  return letters.replace(/(.{4})(?=.)/g, '$1-')
}

/** The rules for a name of a person also apply to devices: both names are shown beside decisions. */
export const DeviceName = PersonName

export const NewPairing = z.strictObject({
  name: DeviceName.optional().meta({
    description: 'The name of the device; by default, its browser and operating system',
  }),
  scopes: Scopes.optional().meta({ description: 'By default, those of the caller' }),
  limits: Limits.optional().meta({ description: 'By default, those of the caller' }),
  lifetimeMs: Lifetime.optional().meta({ description: 'The time for which the device stays signed in' }),
})
export type NewPairing = z.infer<typeof NewPairing>

/** A code that signs one device in. It is kept only in memory. */
export const Pairing = z.object({
  code: z.string().meta({ description: 'In groups of four letters, to be typed at the page /pair' }),
  url: z.string().meta({ description: 'Signs the browser that opens it in; shown as a QR code' }),
  expiresAt: z.number(),
  scopes: Scopes,
})
export type Pairing = z.infer<typeof Pairing>
