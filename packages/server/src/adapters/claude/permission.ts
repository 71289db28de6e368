import type {
  CanUseTool,
  HookCallback,
  HookJSONOutput,
  OnElicitation,
  PermissionResult,
} from '@anthropic-ai/claude-agent-sdk'
import type { Answers, Diff, PermissionMode, Question, ToolKind } from '@parley/protocol'
import type { PermissionAsk, Person } from '../../core/agent-adapter.ts'
import { elicitedContent, elicitedQuestions } from '../elicitation.ts'
import type { Reach } from '../inside-folder.ts'
import type { HookWaits } from './hook-waits.ts'
import { nativeModes } from './settings.ts'
import { suggestedGrants } from './suggestions.ts'
import type { ToolDescription } from './translate-tool-call.ts'

export type PermissionContext = {
  readonly person: Person
  /** What a call is, by Claude's name of its tool. */
  describe(name: string, input: unknown): ToolDescription & { readonly name: string }
  /** Whether it names a file outside the session's folders, or changes a protected one. */
  reach(kind: ToolKind, input: unknown): Reach
  /** It changes a protected file: a person is asked, whatever Claude Code would do. */
  mustAsk(call: HookedCall): boolean
  /** Claude Code would not ask about this kind of call in its own mode, unless it had a reason. */
  insists(kind: ToolKind): boolean
  /** What it would change. */
  diffs(name: string, input: Readonly<Record<string, unknown>>): Promise<{ diffs?: Diff[] }>
  /** Our id of a call, once the host has taken it: a request must not come before its call. */
  callId(nativeId: string): Promise<string>
  /** The subagent that a call belongs to. */
  parentOf(toolCallId: string): { parentToolCallId?: string }
  /** The call will not run: its result is a refusal, not a failure. */
  denied(toolCallId: string): void
  /** The plan was approved: the mode that the session has from now on. */
  leavePlan(): PermissionMode
  /** Stops the turn. */
  interrupt(): void
  /** A signal that fires when the agent takes its question back, and never because it died. */
  withdrawn(signal: AbortSignal): AbortSignal
  readonly waits: HookWaits
  /** Claude Code will certainly ask a person about this call. */
  willAsk(call: HookedCall): boolean
  /**
   * A call that was deferred is asked about again when its conversation is resumed: it is announced as a new call, or
   * dismissed if its turn is over. Any other call is fresh. The program may ask before it knows our hook.
   */
  calledAgain(nativeId: string, tool: string, input: unknown): Promise<'fresh' | 'again' | 'dismissed'>
}

export type HookedCall = {
  readonly tool: string
  readonly input: unknown
  /** Claude Code says that it is in plan mode. It may enter that mode by itself, whatever the session's mode is. */
  readonly planning: boolean
}

type Asked = Pick<
  Parameters<CanUseTool>[2],
  'toolUseID' | 'suggestions' | 'title' | 'decisionReason' | 'signal'
> & {
  /** Told, and in no type of the SDK: `safetyCheck` says that Claude Code holds the file to be sensitive. */
  readonly decisionReasonType?: string
  /** Claude Code itself asks, not our hook. */
  readonly isOwn?: boolean
}

/** Not tools that do something: what they lead to is looked at by itself. */
const neverForbidden = new Set(['AskUserQuestion', 'ExitPlanMode', 'EnterPlanMode', 'StructuredOutput'])
/** Claude asks for these after the hook in every mode; for others the hook must say so. */
const alwaysAsked = new Set(['AskUserQuestion', 'ExitPlanMode'])

/**
 * Before every call. Asks for what Claude Code would ask for anyway, because here the call can be deferred while a person
 * thinks; and makes the host's refusals hold for what it would approve without asking: what the person's own settings
 * allow, what it holds to be safe, and in some modes everything.
 */
export function createToolHook(context: PermissionContext): HookCallback {
  return async (input, toolUseID, { signal }) => {
    if (input.hook_event_name !== 'PreToolUse') return {}
    const name = input.tool_name
    const native = input.tool_input as Record<string, unknown>
    const nativeId = toolUseID ?? input.tool_use_id
    const call = { tool: name, input: native, planning: input.permission_mode === 'plan' }
    const isCertain = input.agent_id === undefined && context.willAsk(call)
    const fate = await context.calledAgain(nativeId, name, native)
    if (fate === 'dismissed') return isCertain ? decided('ask') : inHook(context, dismissal)
    if (!isCertain && fate === 'fresh') return refuseForbidden(context, call, native, nativeId)
    const answer = decide(context, name, native, { toolUseID: nativeId, signal })
    const outcome = await context.waits.wait(nativeId, answer)
    if (outcome === 'deferred') return decided('defer')
    if (alwaysAsked.has(name)) return {}
    return isCertain ? decided('ask') : inHook(context, context.waits.take(nativeId) ?? dismissal)
  }
}

const dismissal: PermissionResult = { behavior: 'deny', message: 'Cancelled.', interrupt: true }

/** An answer where Claude may not ask any more after the hook. */
function inHook(context: PermissionContext, answer: PermissionResult): HookJSONOutput {
  if (answer.behavior === 'allow') return decided('allow', answer.updatedInput)
  if (answer.interrupt) context.interrupt()
  return decided('deny', undefined, answer.message)
}

function decided(
  permissionDecision: 'allow' | 'ask' | 'defer' | 'deny',
  updatedInput?: Record<string, unknown>,
  permissionDecisionReason?: string,
): HookJSONOutput {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision,
      ...(updatedInput && { updatedInput }),
      ...(permissionDecisionReason !== undefined && { permissionDecisionReason }),
    },
  }
}

async function refuseForbidden(
  context: PermissionContext,
  call: HookedCall,
  native: Record<string, unknown>,
  nativeId: string,
): Promise<HookJSONOutput> {
  const name = call.tool
  const { name: tool, kind, title } = context.describe(name, native)
  const ask: PermissionAsk = { tool, kind, title, input: native }
  if (neverForbidden.has(name)) return {}
  if (!context.person.forbids(ask)) return context.mustAsk(call) ? decided('ask') : {}
  const toolCallId = await context.callId(nativeId)
  const answer = await context.person.permit({
    ...ask,
    toolCallId,
    ...context.parentOf(toolCallId),
    ...(await context.diffs(name, native)),
  })
  if (answer.outcome === 'allowed')
    return decided('allow', answer.input as Record<string, unknown> | undefined)
  context.denied(toolCallId)
  if (answer.outcome === 'denied' && answer.endTurn) context.interrupt()
  const reason = (answer.outcome === 'denied' && answer.message) || 'Parley refuses this.'
  return decided('deny', undefined, reason)
}

/** The agent's question whether a tool may run, to the host and back. What the hook has asked is not asked again. */
export function createCanUseTool(context: PermissionContext): CanUseTool {
  return async (name, input, asked) => {
    const fate = await context.calledAgain(asked.toolUseID, name, input)
    if (fate === 'dismissed') return dismissal
    return context.waits.take(asked.toolUseID) ?? decide(context, name, input, { ...asked, isOwn: true })
  }
}

/** An MCP server asks the person something in the middle of a call. */
export function createOnElicitation(context: PermissionContext): OnElicitation {
  return async (request, { signal }) => {
    const { person, withdrawn } = context
    const answer = await person.answer({ questions: elicitedQuestions(request) }, withdrawn(signal))
    if (answer.outcome === 'cancelled') return { action: 'cancel' }
    const content = elicitedContent(request, answer.answers)
    return content ? { action: 'accept', content } : { action: 'decline' }
  }
}

async function decide(
  context: PermissionContext,
  name: string,
  input: Record<string, unknown>,
  asked: Asked,
): Promise<PermissionResult> {
  const toolCallId = await context.callId(asked.toolUseID)
  if (name === 'AskUserQuestion') return answerQuestion(context, input, asked, toolCallId)
  const place = { toolCallId, ...context.parentOf(toolCallId) }
  const described = context.describe(name, input)
  const ask: PermissionAsk = {
    ...permissionAsk(described, input, asked, place),
    ...context.reach(described.kind, input),
    ...(asked.isOwn && context.insists(described.kind) && { insisted: true }),
    ...(asked.decisionReasonType === 'safetyCheck' && { protected: true }),
    ...(await context.diffs(name, input)),
  }
  const answer = await context.person.permit(ask, context.withdrawn(asked.signal))
  if (answer.outcome === 'allowed') {
    const updatedInput = (answer.input ?? input) as Record<string, unknown>
    if (name !== 'ExitPlanMode') return { behavior: 'allow', updatedInput }
    const mode = nativeModes[context.leavePlan()]
    return {
      behavior: 'allow',
      updatedInput,
      updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }],
    }
  }
  context.denied(toolCallId)
  if (answer.outcome === 'cancelled') return dismissal
  const message = answer.message ?? 'The person said no.'
  return { behavior: 'deny', message, ...(answer.endTurn && { interrupt: true }) }
}

function permissionAsk(
  { name, kind, title }: ReturnType<PermissionContext['describe']>,
  input: Record<string, unknown>,
  asked: Asked,
  place: Pick<PermissionAsk, 'toolCallId' | 'parentToolCallId'>,
): PermissionAsk {
  const suggestions = suggestedGrants(name, input, asked.suggestions)
  return {
    ...place,
    tool: name,
    kind,
    title: asked.title ?? title,
    input,
    ...(asked.decisionReason !== undefined && { reason: asked.decisionReason }),
    ...(suggestions.length > 0 && { suggestions }),
  }
}

type NativeQuestion = {
  readonly question: string
  readonly header: string
  readonly multiSelect?: boolean
  readonly options: readonly {
    readonly label: string
    readonly description?: string
    readonly preview?: string
  }[]
}

async function answerQuestion(
  { person, withdrawn, denied, parentOf }: PermissionContext,
  input: Record<string, unknown>,
  asked: Asked,
  toolCallId: string,
): Promise<PermissionResult> {
  const native = (input.questions ?? []) as readonly NativeQuestion[]
  const ask = { toolCallId, ...parentOf(toolCallId), questions: native.map(question) }
  const answer = await person.answer(ask, withdrawn(asked.signal))
  if (answer.outcome === 'answered') {
    return { behavior: 'allow', updatedInput: { ...input, answers: nativeAnswers(native, answer.answers) } }
  }
  denied(toolCallId)
  return { behavior: 'deny', message: 'The question was not answered.', interrupt: true }
}

function question(native: NativeQuestion, index: number): Question {
  return {
    id: String(index + 1),
    header: native.header,
    text: native.question,
    options: native.options.map(({ label, description, preview }) => ({
      label,
      ...(description !== undefined && { description }),
      ...(preview !== undefined && { preview }),
    })),
    multiple: native.multiSelect === true,
    freeText: true,
  }
}

/** By the question's text; several labels are joined, and quoted where they hold what joins them. */
function nativeAnswers(questions: readonly NativeQuestion[], answers: Answers): Record<string, string> {
  return Object.fromEntries(
    questions.map((native, index) => {
      const given = [answers[String(index + 1)] ?? []].flat()
      return [
        native.question,
        given.map((text) => (/, |"/.test(text) ? JSON.stringify(text) : text)).join(', '),
      ]
    }),
  )
}
