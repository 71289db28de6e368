import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { capabilityNames, PermissionMode, SessionOptions, ToolKind } from '@parley/protocol'
import { z } from 'zod'

const Pattern = z.string().refine(isPattern, 'not a regular expression')
/** A path into `_meta`, from the outermost key inward. */
const MetaPath = z.array(z.string()).min(1)
const Json = z.record(z.string(), z.json())

/**
 * Describes where an agent deviates from the protocol or extends it. An absent field means that the agent follows the
 * protocol.
 */
export const Dialect = z.strictObject({
  // tool calls
  toolName: z
    .strictObject({
      meta: MetaPath.optional(),
      callId: z
        .array(Pattern)
        .optional()
        .describe('Patterns for the id of a call; the first group of the first match is the name'),
    })
    .optional()
    .describe('Where to find the name of a tool if the call has none'),
  parentCall: MetaPath.optional().describe('Where to find the call that started a subagent'),
  kinds: z
    .record(z.string(), ToolKind)
    .optional()
    .describe('The kinds of tools, by name; an entry replaces the kind that the agent reports'),
  commandInTitle: z.boolean().optional().describe('A command has no input: its title is the command'),
  inputInContent: z.boolean().optional().describe('A call has no input: its content is the input as JSON'),
  cancelledOutput: Pattern.optional().describe(
    'Matches the output of a call that was stopped but is reported as completed',
  ),
  exitCode: Pattern.optional().describe(
    'Matches what precedes the output of a command; the first group is the exit code',
  ),
  planFile: Pattern.optional().describe('Matches the title of a plan; the first group is its file'),
  asksWhileRunning: z
    .boolean()
    .optional()
    .describe('A call is reported as running before the agent asks for its permission'),
  outputInMeta: z
    .strictObject({ text: MetaPath, exitCode: MetaPath })
    .optional()
    .describe('Where to find a piece of the output of a command, and its exit code'),
  questionTool: z
    .string()
    .optional()
    .describe('The tool whose permission request contains questions; the response contains the answers'),

  // the conversation
  wholeThoughts: z.boolean().optional().describe('Each chunk is a complete thought'),
  thoughtHead: Pattern.optional().describe('Text that is removed from thoughts'),
  notThePerson: Pattern.optional().describe(
    'Text in a replay that is attributed to the person, although the person did not write it',
  ),
  notTheAgent: Pattern.optional().describe(
    'Text in a replay that is attributed to the agent, although the agent did not write it',
  ),
  modeInText: z.string().optional().describe('The prefix of a text that reports a change of the mode'),
  customAnswer: z
    .string()
    .optional()
    .describe('The suffix of a field that takes a free-text answer for another field'),

  // sessions
  meta: z
    .strictObject({ always: Json.optional(), untrusted: Json.optional() })
    .optional()
    .describe('Sent as `_meta` when a session is created or resumed'),
  resumeBy: z.enum(['load', 'resume']).optional(),
  replayAfterLoad: z.boolean().optional().describe('The replay continues after the response to session/load'),
  forgetsOpenCall: z
    .boolean()
    .optional()
    .describe("A call that was waiting when the process ended is missing from the agent's conversation"),
  hidesOpenCall: z
    .boolean()
    .optional()
    .describe(
      'A call that was waiting when the process ended is missing from the replay, but the agent knows it',
    ),
  minuteInSessionFile: z
    .strictObject({ home: z.string(), folder: z.string() })
    .optional()
    .describe(
      'The file of a session is named by minute and id: before a session is loaded, a file of the current minute must be renamed',
    ),
  steering: z.string().optional().describe('The method that sends a prompt into a running turn'),
  planOption: z
    .strictObject({ category: z.string(), on: z.string(), off: z.string() })
    .optional()
    .describe('The option that turns plan mode on and off, if it is not one of the modes'),
  ownMethods: z
    .record(z.string(), z.string())
    .optional()
    .describe('Methods outside the protocol that are intentionally ignored, with the reason'),
})
export type Dialect = z.infer<typeof Dialect>

/**
 * The values of absent fields. The modes are those that the host alone implements: the agent asks for everything, and
 * a rule, the mode or a person answers.
 */
const defaults = () => ({
  args: [],
  env: {},
  vendor: [],
  without: [],
  sets: {},
  capabilities: ['streaming' as const, 'permissions' as const, 'interrupt' as const, 'environment' as const],
  modes: { ask: null, 'accept-edits': null, 'read-only': null, bypass: null },
  options: [],
  files: ['read' as const, 'write' as const],
  startsAhead: false,
  dialect: {},
})
const signInDefaults = () => ({ variables: [], files: [], required: false, methods: {} })

/** An agent that speaks the Agent Client Protocol over stdio, as data. Adding an agent means adding such an entry. */
export const AcpAgent = z.strictObject({
  id: z.string().min(1).max(200),
  name: z.string().min(1),
  description: z.string().optional(),
  command: z.string().min(1).describe('A program on the PATH, or an absolute path'),
  args: z.array(z.string()).default([]),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe('Variables that are set for the process, unless they are already set'),
  vendor: z
    .array(z.string())
    .default([])
    .describe("Names, or prefixes of names, of the agent's own variables"),
  without: z
    .array(z.string())
    .default([])
    .describe(
      'Variables that are not passed on, because they belong to another running session of the agent',
    ),
  install: z
    .strictObject({ package: z.string(), version: z.string() })
    .optional()
    .describe('The npm package of the agent'),
  installGuide: z.url().optional().describe('A page with instructions, if Parley does not install the agent'),
  signIn: z
    .strictObject({
      hint: z.string().describe('How to sign in; {program} stands for the command that starts the program'),
      command: z.string().optional().describe('The command that signs in, if there is one'),
      variables: z
        .array(z.string())
        .default([])
        .describe('If one of these variables is set, the agent is signed in'),
      files: z
        .array(z.string())
        .default([])
        .describe('Paths in the home folder; if one of them exists, the agent is signed in'),
      required: z
        .boolean()
        .default(false)
        .describe(
          'A session can be created only if the agent is signed in, so a created session proves the sign-in',
        ),
      methods: z
        .record(z.string(), z.string())
        .default({})
        .describe('The method of `authenticate` for each variable'),
      chosen: z
        .strictObject({ file: z.string(), holds: z.string() })
        .optional()
        .describe(
          'If `file` contains the text in `holds`, the person has chosen a method, and Parley chooses none',
        ),
    })
    .optional(),
  sets: z
    .record(z.string(), z.string())
    .default({})
    .describe('Variables that are set for the process, whatever the environment contains'),
  trust: z
    .union([
      z.strictObject({
        trusted: z.record(z.string(), z.string()).default({}),
        untrusted: z.record(z.string(), z.string()),
        settings: z
          .strictObject({ variable: z.string(), untrusted: Json })
          .optional()
          .describe('The variable that names a file of settings, and the content of this file'),
        forServers: z.boolean().optional().describe('No MCP servers are started in an untrusted folder'),
      }),
      z.literal('required'),
    ])
    .optional()
    .describe(
      'The variables that tell the agent whether the folder is trusted; required: the agent loads the settings of every folder, so it is started only in trusted folders',
    ),
  variables: z
    .strictObject({ reserved: z.array(z.string()), open: z.array(z.string()).default([]) })
    .optional()
    .describe('Variables that no session may set, and the exceptions'),
  capabilities: z.array(z.enum(capabilityNames)).default(defaults().capabilities),
  modes: z
    .partialRecord(PermissionMode, z.string().nullable())
    .default(defaults().modes)
    .describe("The agent's names for the modes; null: the host alone implements the mode"),
  options: z.array(z.enum(keysOf(SessionOptions))).default([]),
  directories: z
    .string()
    .optional()
    .describe('The argument that names an additional folder; repeated for each folder'),
  files: z
    .array(z.enum(['read', 'write']))
    .default(defaults().files)
    .describe('The file operations that the host performs for the agent'),
  conversations: z
    .union([z.literal('listed'), z.strictObject({ home: z.string(), folder: z.string() })])
    .optional()
    .describe(
      'Set if conversations can be imported: the agent lists them, or they are files in the format of Gemini',
    ),
  terminal: z
    .array(z.string())
    .optional()
    .describe(
      "The arguments that continue a conversation in the agent's own program; the id of the conversation follows",
    ),
  startsAhead: z.boolean().default(false),
  dialect: Dialect.default({}),
})
/** An entry as it is written; absent fields get defaults. */
export type AcpAgent = z.input<typeof AcpAgent>
export type KnownAgent = z.output<typeof AcpAgent>

/** A valid entry with its defaults. It is not checked, which would take time at every start of a server. */
export function withDefaults(agent: AcpAgent): KnownAgent {
  const { signIn, variables, trust, ...rest } = agent
  return {
    ...defaults(),
    ...rest,
    ...(signIn && { signIn: { ...signInDefaults(), ...signIn } }),
    ...(variables && { variables: { open: [], ...variables } }),
    ...(trust && { trust: trust === 'required' ? trust : { trusted: {}, ...trust } }),
  } as KnownAgent
}

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

/** True if a credential is present. Without one, only the agent itself can report whether it is signed in. */
export function hasCredential({ signIn }: KnownAgent, env: Readonly<Record<string, string>>): boolean {
  const { variables = [], files = [] } = signIn ?? {}
  if (variables.some((name) => env[name])) return true
  return files.some((file) => existsSync(join(env.HOME ?? homedir(), file)))
}
