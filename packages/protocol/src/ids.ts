import { z } from 'zod'

/** Ids are opaque strings. The prefix names the type, for people who read logs; no code may parse it. */
const id = (what: string) => z.string().min(1).max(200).meta({ description: what })

export const SessionId = id('A session')
export type SessionId = z.infer<typeof SessionId>
export const TurnId = id('A turn of a session')
export type TurnId = z.infer<typeof TurnId>
export const PromptId = id('A prompt')
export type PromptId = z.infer<typeof PromptId>
export const MessageId = id('The id that a client gave to its prompt')
export type MessageId = z.infer<typeof MessageId>
export const BlockId = id('A text or thinking block')
export type BlockId = z.infer<typeof BlockId>
export const ToolCallId = id('A tool call; also the id of its block')
export type ToolCallId = z.infer<typeof ToolCallId>
export const RequestId = id('A permission or a question, which waits for a person')
export type RequestId = z.infer<typeof RequestId>
export const RoundId = id('A round')
export type RoundId = z.infer<typeof RoundId>
export const CommandId = id(
  'Chosen by the client; a command that is sent twice with the same id takes effect once, with one receipt',
)
export type CommandId = z.infer<typeof CommandId>
export const AgentId = id('An agent, e.g. demo')
export type AgentId = z.infer<typeof AgentId>
export const DeviceId = id('A browser that signed in')
export type DeviceId = z.infer<typeof DeviceId>
export const PersonId = id('A person who uses this server')
export type PersonId = z.infer<typeof PersonId>
export const TokenId = id('A named token')
export type TokenId = z.infer<typeof TokenId>
export const InviteId = id('An invitation')
export type InviteId = z.infer<typeof InviteId>
export const TargetId = id('A target of alerts')
export type TargetId = z.infer<typeof TargetId>
export const DecisionLinkId = id('A link that decides one request')
export type DecisionLinkId = z.infer<typeof DecisionLinkId>

export type IdPrefix =
  | 'ses'
  | 'trn'
  | 'prm'
  | 'blk'
  | 'call'
  | 'req'
  | 'cmd'
  | 'rule'
  | 'con'
  | 'epo'
  | 'trm'
  | 'dev'
  | 'per'
  | 'tok'
  | 'inv'
  | 'tgt'
  | 'sgn'
  | 'lnk'
  | 'rnd'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** A new id: the time first, so that ids sort by age, then 80 random bits. */
export function newId(prefix: IdPrefix, now: number = Date.now()): string {
  let time = ''
  for (let rest = now, i = 0; i < 9; i++, rest = Math.floor(rest / 32)) time = alphabet[rest % 32] + time
  const random = crypto.getRandomValues(new Uint8Array(16))
  let tail = ''
  for (const byte of random) tail += alphabet[byte % 32]
  return `${prefix}_${time}${tail}`
}
