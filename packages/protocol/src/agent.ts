import { z } from 'zod'
import { AgentOption } from './agent-option.ts'
import { ErrorInfo } from './error.ts'
import { AgentId } from './ids.ts'
import { PermissionMode } from './permission.ts'

/**
 * The abilities of an agent, as its adapter declares them. The list is closed. A command that needs a missing
 * capability is refused with `not_supported` before anything happens. The contract suite tests every declared
 * capability.
 */
export const capabilityNames = [
  'streaming',
  'thinking',
  'toolInputStreaming',
  'toolOutputStreaming',
  'permissions',
  'editInput',
  'questions',
  'plan',
  'planApproval',
  'subagents',
  'background',
  'images',
  'files',
  'resume',
  'fork',
  'forkBefore',
  'forkElsewhere',
  'aside',
  'interrupt',
  'steer',
  'models',
  'effort',
  'modes',
  'mcp',
  'hostTools',
  'commands',
  'compaction',
  'usage',
  'cost',
  'structuredOutput',
  'retraction',
  'environment',
  'rejoin',
] as const
export type CapabilityName = (typeof capabilityNames)[number]

export const Capabilities = z.object(
  Object.fromEntries(capabilityNames.map((name) => [name, z.boolean()])) as Record<
    CapabilityName,
    z.ZodBoolean
  >,
)
export type Capabilities = z.infer<typeof Capabilities>

/** Returns a record of all capabilities, in which the named ones are true and the others are false. */
export function capabilities(...names: CapabilityName[]): Capabilities {
  return Object.fromEntries(capabilityNames.map((name) => [name, names.includes(name)])) as Capabilities
}

const dollars = z.number().min(0)

/** A model as reported by its agent. Parley does not fill in missing fields from other sources. */
export const AgentModel = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().optional(),
  contextWindow: z.number().optional(),
  maxOutputTokens: z.number().optional(),
  efforts: z.array(z.string()).optional(),
  reasoning: z.boolean().optional().meta({ description: 'The model supports thinking' }),
  attachments: z.boolean().optional().meta({ description: 'The model accepts images or files' }),
  price: z
    .object({
      input: dollars,
      output: dollars,
      cacheRead: dollars.optional(),
      cacheWrite: dollars.optional(),
    })
    .optional()
    .meta({
      description: 'List price in US dollars per million tokens; not the cost of a subscription',
    }),
  isDefault: z.boolean().optional(),
  isSmallDefault: z
    .boolean()
    .optional()
    .meta({ description: 'The small, fast model that the agent uses for side tasks' }),
  resolvesTo: z
    .string()
    .optional()
    .meta({ description: 'For an alias: the model that it currently resolves to, as sessions name it' }),
})
export type AgentModel = z.infer<typeof AgentModel>

export const AgentModels = z.object({
  agent: AgentId,
  name: z.string(),
  models: z.array(AgentModel),
  source: z.enum(['probe', 'session']).optional().meta({
    description:
      'The source of the list: the probe of the program, or the agent of a session. Absent: not reported',
  }),
  defaultModel: z.string().optional().meta({ description: 'The id of the default model' }),
  defaultSmallModel: z.string().optional().meta({ description: 'The id of the model for side tasks' }),
  seenAt: z.number().optional().meta({ description: 'When a session reported the models' }),
})
export type AgentModels = z.infer<typeof AgentModels>

export const AgentCommand = z.object({
  name: z.string(),
  description: z.string().optional(),
  hint: z.string().optional(),
})
export type AgentCommand = z.infer<typeof AgentCommand>

/** The result of looking for an agent on this machine. */
export const AgentProbe = z.object({
  found: z.boolean(),
  version: z.string().optional(),
  path: z.string().optional(),
  signedIn: z.boolean().optional(),
  usable: z.boolean().optional().meta({
    description: 'false: the program was found but cannot be used (too old, or it does not start)',
  }),
  hint: z
    .string()
    .optional()
    .meta({ description: 'The remedy if the agent is not found, not signed in or not usable' }),
  command: z
    .string()
    .optional()
    .meta({ description: 'The command that does what `hint` says, if there is one' }),
  models: z.array(AgentModel).optional(),
})
export type AgentProbe = z.infer<typeof AgentProbe>

/** The npm package of an agent, its tested version and the installed one. */
export const AgentInstall = z.object({
  package: z.string(),
  version: z.string().meta({ description: 'The tested version' }),
  installed: z.string().optional().meta({ description: 'The version that Parley installed' }),
})
export type AgentInstall = z.infer<typeof AgentInstall>

/** A running installation, and the last line of its output. */
export const Installing = z.object({ since: z.number(), line: z.string() })
export type Installing = z.infer<typeof Installing>

/** The messages of an agent that its adapter did not understand. Each one is recorded whole, as `agent.unrecognised`. */
export const UnrecognisedMessages = z.object({
  count: z.number(),
  since: z.number().meta({ description: 'When the first of these messages was recorded' }),
  kinds: z.array(z.object({ kind: z.string(), count: z.number() })).meta({
    description: 'The kinds of these messages, the most frequent one first. Rare kinds can be missing',
  }),
})
export type UnrecognisedMessages = z.infer<typeof UnrecognisedMessages>

export const AgentInfo = AgentProbe.extend({
  id: AgentId,
  name: z.string(),
  description: z.string().optional(),
  capabilities: Capabilities,
  modes: z.array(PermissionMode),
  options: z
    .array(AgentOption)
    .optional()
    .meta({ description: 'The session options that the agent supports; others are refused' }),
  keys: z
    .array(z.string())
    .optional()
    .meta({ description: "Environment variables for the agent's API key, the preferred one first" }),
  conversations: z
    .boolean()
    .optional()
    .meta({ description: "The agent's own conversations can be listed and imported" }),
  added: z.literal(true).optional().meta({ description: 'Added by a person, who can also remove it' }),
  module: z
    .string()
    .optional()
    .meta({ description: 'The module of config.json that the adapter of the agent comes from' }),
  keysSet: z.array(z.string()).optional().meta({
    description: 'Names of the variables that config.json sets for the agent; values are never returned',
  }),
  install: AgentInstall.optional().meta({ description: 'Present if Parley can install the agent' }),
  installing: Installing.optional(),
  installError: ErrorInfo.optional().meta({
    description: 'The error of the last installation, if it failed',
  }),
  unrecognised: UnrecognisedMessages.optional().meta({
    description:
      'The messages of the agent that were not understood since the server started or installed the agent. Absent if there are none, and for tokens with limits',
  }),
})
export type AgentInfo = z.infer<typeof AgentInfo>

/** An adapter of `config.json` that was not loaded. */
export const AdapterFailure = z.object({
  module: z.string().meta({ description: 'The module, as config.json names it' }),
  error: ErrorInfo,
})
export type AdapterFailure = z.infer<typeof AdapterFailure>

/**
 * The kind of account that pays for the model. With a subscription, reported costs are notional: the list price of the
 * tokens.
 */
export const Billing = z.enum(['subscription', 'api-key', 'cloud'])
export type Billing = z.infer<typeof Billing>

/** The data that an agent reports about an open connection. */
export const Connection = z.object({
  connectionId: z.string(),
  agentSessionId: z.string().optional().meta({ description: "The agent's own id of the conversation" }),
  model: z.string().optional(),
  cwd: z.string().optional(),
  agentVersion: z.string().optional(),
  tools: z.array(z.string()).optional(),
  mcpServers: z.array(z.object({ name: z.string(), status: z.string() })).optional(),
  commands: z.array(AgentCommand).optional(),
  modes: z.array(PermissionMode).optional(),
  models: z.array(AgentModel).optional(),
  credential: z
    .string()
    .optional()
    .meta({ description: 'The billing source: an API key, a subscription or a cloud account' }),
  billing: Billing.optional(),
  loaded: z
    .array(z.string())
    .optional()
    .meta({ description: 'The settings that were loaded: user, project' }),
})
export type Connection = z.infer<typeof Connection>
