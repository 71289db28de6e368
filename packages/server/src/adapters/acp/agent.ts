import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { capabilityNames, PermissionMode, SessionOptions, ToolKind } from '@parley/protocol'
import { z } from 'zod'

/** A regular expression in source form. */
const Pattern = z.string().refine(isPattern, 'not a regular expression')
/** A path into `_meta`, from the outermost key inward. */
const MetaPath = z.array(z.string()).min(1)
const Json = z.record(z.string(), z.json())

/**
 * Where an agent deviates from the protocol or extends it. An absent field means that the agent follows the protocol.
 */
export const Dialect = z.strictObject({
  // tool calls
  toolName: z
    .strictObject({
      meta: MetaPath.optional(),
      callId: z.array(Pattern).optional().describe('The first group of the first that fits the id of a call'),
    })
    .optional()
    .describe('Where the name of a tool is found, unless the call has one'),
  parentCall: MetaPath.optional().describe('Where the call is found that started a subagent'),
  kinds: z
    .record(z.string(), ToolKind)
    .optional()
    .describe('What tools are, where the agent does not say it'),
  commandInTitle: z.boolean().optional().describe('A command has no input: its title is the command'),
  inputInContent: z.boolean().optional().describe('A call has no input: its content is the input as JSON'),
  cancelledOutput: Pattern.optional().describe(
    'What a call says that was stopped and calls itself completed',
  ),
  exitCode: Pattern.optional().describe('The first group, in front of what a command printed'),
  planFile: Pattern.optional().describe('The first group, in the title of a plan: the file that holds it'),

  // the conversation
  wholeThoughts: z.boolean().optional().describe('Each chunk of a thought is a whole one'),
  thoughtHead: Pattern.optional().describe('Left out of thoughts'),
  notThePerson: Pattern.optional().describe('In a replay, what comes as said by the person and is not'),
  notTheAgent: Pattern.optional().describe('In a replay, what comes as said by the agent and is not'),
  modeInText: z.string().optional().describe('A text that begins so says that the mode has changed'),
  customAnswer: z
    .string()
    .optional()
    .describe('The end of the name of a field that takes free words for another'),

  // sessions
  meta: z
    .strictObject({ always: Json.optional(), untrusted: Json.optional() })
    .optional()
    .describe('Given as `_meta` when a session is made or gone on with'),
  resumeBy: z.enum(['load', 'resume']).optional(),
  replayAfterLoad: z.boolean().optional().describe('History still comes after the answer to session/load'),
  forgetsOpenCall: z
    .boolean()
    .optional()
    .describe('A call that waited when the process ended is not in its memory'),
  minuteInSessionFile: z
    .strictObject({ home: z.string(), folder: z.string() })
    .optional()
    .describe(
      'The file of a session is named by minute and id: one that was begun in this minute must be renamed first',
    ),
  steering: z.string().optional().describe('The method that takes words into a running turn'),
})
export type Dialect = z.infer<typeof Dialect>

/** Modes that the host alone implements: the agent asks for everything, and a rule, the mode or a person answers. */
const hostModes = { ask: null, 'accept-edits': null, 'read-only': null, bypass: null } as const

/** An agent that speaks the Agent Client Protocol over stdio, as data. Adding an agent means adding such an entry. */
export const AcpAgent = z.strictObject({
  id: z.string().min(1).max(200),
  name: z.string().min(1),
  description: z.string().optional(),
  command: z.string().min(1).describe('A program on the PATH, or the whole path of one'),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}).describe('Set for its process, unless it is set already'),
  vendor: z.array(z.string()).default([]).describe('Names, or beginnings of names, of its own variables'),
  without: z.array(z.string()).default([]).describe('Of these, what belongs to another running session'),
  install: z
    .strictObject({ package: z.string(), version: z.string() })
    .optional()
    .describe('The npm package that brings it'),
  signIn: z
    .strictObject({
      hint: z
        .string()
        .describe('What a person does to sign in; {program} stands for the program as it is typed'),
      command: z.string().optional().describe('What to type for that, if one command does it'),
      variables: z.array(z.string()).default([]).describe('One of them set: signed in'),
      files: z.array(z.string()).default([]).describe('In the home folder; one of them there: signed in'),
      required: z
        .boolean()
        .default(false)
        .describe('It makes no session for whoever is not signed in: one that is made says yes'),
      methods: z
        .record(z.string(), z.string())
        .default({})
        .describe('The method of `authenticate` that a variable stands for'),
      chosen: z
        .strictObject({ file: z.string(), holds: z.string() })
        .optional()
        .describe('The person chose a method already: none is chosen for them'),
    })
    .optional(),
  trust: z
    .strictObject({
      variable: z.string(),
      yes: z.string(),
      no: z.string(),
      forServers: z.boolean().optional().describe('Without trust it starts no MCP server'),
    })
    .optional()
    .describe('How its process learns whether the person trusts the folder'),
  variables: z
    .strictObject({ reserved: z.array(z.string()), open: z.array(z.string()).default([]) })
    .optional()
    .describe('Variables that no session may set, and those of them that it may set all the same'),
  capabilities: z
    .array(z.enum(capabilityNames))
    .default(['streaming', 'permissions', 'interrupt', 'environment']),
  modes: z
    .partialRecord(PermissionMode, z.string().nullable())
    .default(hostModes)
    .describe('Our modes in its words; null: a mode of the host alone'),
  options: z.array(z.enum(keysOf(SessionOptions))).default([]),
  directories: z.string().optional().describe('The argument that names one more folder, given once for each'),
  files: z
    .array(z.enum(['read', 'write']))
    .default(['read', 'write'])
    .describe('What the host does with files for it'),
  conversations: z
    .union([z.literal('listed'), z.strictObject({ home: z.string(), folder: z.string() })])
    .optional()
    .describe('Its conversations can be imported: it lists them, or they lie in files as those of Gemini do'),
  terminal: z
    .array(z.string())
    .optional()
    .describe(
      'What goes on with a conversation in its own program: these words and the id of the conversation',
    ),
  startsAhead: z.boolean().default(false),
  dialect: Dialect.default({}),
})
/** An entry as written; absent fields have defaults. */
export type AcpAgent = z.input<typeof AcpAgent>
export type KnownAgent = z.output<typeof AcpAgent>

function isPattern(text: string): boolean {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}

function keysOf<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>) {
  return Object.keys(schema.shape) as (keyof Shape & string)[]
}

/** True if a credential is present. If none is, only the agent itself can tell whether it is signed in. */
export function hasCredential({ signIn }: KnownAgent, env: Readonly<Record<string, string>>): boolean {
  const { variables = [], files = [] } = signIn ?? {}
  if (variables.some((name) => env[name])) return true
  return files.some((file) => existsSync(join(env.HOME ?? homedir(), file)))
}
