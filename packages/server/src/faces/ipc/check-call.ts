import {
  Answers,
  McpServers,
  ParleyError,
  PermissionMode,
  PermissionScope,
  SessionOptions,
  validationError,
} from '@parley/protocol'
import { z } from 'zod'

/** Schemas of the calls, by channel. Calls are checked, because a page may show untrusted content. */

const taskId = z.string().min(1).max(200)
const sessionId = z.string().min(1).max(200)

const Config = z.strictObject({
  /** An agent id of the host, or an alias that the face was given. */
  type: z.string().min(1),
  payload: z.strictObject({
    cwd: z.string().min(1),
    model: z.string().optional(),
    mode: PermissionMode.optional(),
    options: SessionOptions.strict().optional(),
    mcpServers: McpServers.optional(),
    title: z.string().max(200).optional(),
  }),
})

const Options = z.strictObject({
  /** If true, a task that is connected with the same config is kept. */
  reuseIfSame: z.boolean().default(false),
  /** If false, no session is created yet: new-session, load-session or resume-session provides a session later. */
  createSession: z.boolean().default(true),
})

/** An image as a data URL, or as base64 with its type. */
const Image = z.union([
  z.string(),
  z.strictObject({ data: z.string(), mimeType: z.string(), name: z.string().optional() }),
])

/**
 * The answer to a permission (one of its options, `allow` or `deny`) or to a question (a label, or answers by
 * question id).
 */
const Response = z.union([
  z.string(),
  z.object({
    decision: z.enum(['allow', 'deny']),
    scope: PermissionScope.optional(),
    message: z.string().optional(),
    input: z.unknown().optional(),
    endTurn: z.boolean().optional(),
  }),
  z.object({ answers: Answers }),
  z.object({ label: z.string() }),
])

const calls = {
  'agent:connect': z.tuple([taskId, Config, Options.prefault({})]),
  'agent:send': z.tuple([taskId, z.string(), z.array(Image).default([])]),
  'agent:stop': z.tuple([taskId]),
  'agent:resume-queue': z.tuple([taskId]),
  'agent:permission-response': z.tuple([taskId, z.string(), Response]),
  'agent:get-capabilities': z.tuple([taskId]),
  'agent:set-model': z.tuple([taskId, z.string().min(1)]),
  'agent:new-session': z.tuple([taskId]),
  'agent:load-session': z.tuple([taskId, sessionId]),
  'agent:resume-session': z.tuple([taskId, sessionId]),
  'agent:set-active-session': z.tuple([taskId, sessionId]),
  'agent:get-status': z.tuple([taskId]),
  'agent:disconnect': z.tuple([taskId]),
}
type Channels = typeof calls

export type AgentConfig = z.input<typeof Config>
export type ConnectOptions = z.input<typeof Options>
export type PageImage = z.input<typeof Image>
export type PermissionResponse = z.input<typeof Response>

export type CheckedCall<Channel extends keyof Channels> = z.output<Channels[Channel]>
export type CheckedConfig = z.output<typeof Config>
export type CheckedImage = z.output<typeof Image>
export type CheckedResponse = z.output<typeof Response>

/** The checked arguments of a call, with defaults filled in. */
export function checkCall<Channel extends keyof Channels>(
  channel: Channel,
  args: readonly unknown[],
): CheckedCall<Channel> {
  if (channel === 'agent:connect') refuseSetup(args[1])
  const wanted = calls[channel].def.items.length
  const given = Array.from({ length: wanted }, (_, index) => args[index])
  const result = calls[channel].safeParse(given)
  if (!result.success) throw validationError(channel, result.error)
  return result.data as CheckedCall<Channel>
}

/** Refuses a config that sets how an agent is started or billed. Only the creator of the host may set that. */
function refuseSetup(config: unknown): void {
  const payload = (config as { payload?: object } | undefined)?.payload ?? {}
  const field = ['apiKey', 'command', 'env'].find((name) => Object.hasOwn(payload, name))
  if (field === undefined) return
  const message = `A page cannot set "${field}" of an agent. Configure agents where the host is created, and omit the field here.`
  throw new ParleyError('not_supported', message, { details: { field } })
}
