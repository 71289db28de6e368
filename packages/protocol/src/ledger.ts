import { z } from 'zod'
import { Actor } from './actor.ts'

/**
 * A recorded fact about a server, such as the deletion of a session or a change of the rights of a person. Each entry
 * names the hash of the entry before it.
 */
export const LedgerEntry = z.object({
  n: z.int().min(1).meta({ description: 'Counts from 1 without gaps' }),
  at: z.number(),
  kind: z.string().meta({ description: 'The name of the fact, such as session.sealed or token.created' }),
  subject: z.string().meta({
    description: 'The id or path of the affected object, such as a session, a token or a folder',
  }),
  actor: Actor.optional(),
  address: z.string().optional().meta({ description: 'The network address of the caller' }),
  data: z.record(z.string(), z.unknown()).optional(),
  prev: z.string().meta({ description: 'The hash of the entry before; empty in the first entry' }),
  keyId: z.string(),
  hash: z.string(),
  signature: z.string(),
})
export type LedgerEntry = z.infer<typeof LedgerEntry>

/** The text that the hash of an entry is computed from, and that its signature covers. */
export function ledgerText(entry: Omit<LedgerEntry, 'hash' | 'signature'>): string {
  const { n, at, kind, subject, actor, address, data, prev, keyId } = entry
  return JSON.stringify({ n, at, kind, subject, actor, address, data, prev, keyId })
}

/** A key that signs seals and ledger entries. */
export const SealKeyInfo = z.object({
  keyId: z.string(),
  publicKey: z.string().meta({ description: 'An Ed25519 key as SPKI in base64url' }),
  addedAt: z.number(),
})
export type SealKeyInfo = z.infer<typeof SealKeyInfo>

/** The result of a check of a log against its seals. */
export const LogCheck = z.object({
  events: z.int(),
  sealedTo: z
    .int()
    .meta({ description: 'The seq of the last event that a seal vouches for; 0 if there is no seal' }),
  isLate: z.boolean().meta({ description: 'A version of Parley without seals started the log' }),
  findings: z
    .array(z.string())
    .meta({ description: 'The problems that were found; empty if the log matches its seals' }),
})
export type LogCheck = z.infer<typeof LogCheck>

/** The last line of an export with a proof. It has the keys that a verifier needs in addition to the events. */
export const ExportProof = z.object({
  type: z.literal('parley.proof'),
  version: z.literal(1),
  sessionId: z.string(),
  exportedAt: z.number(),
  keys: z.array(SealKeyInfo),
  devices: z.array(
    z.object({
      keyId: z.string(),
      publicKey: z.string().meta({ description: 'A P-256 key as SPKI in base64' }),
      deviceId: z.string(),
      name: z.string(),
    }),
  ),
})
export type ExportProof = z.infer<typeof ExportProof>
