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
  /** Describes a call by Claude's name of the tool. */
  describe(name: string, input: unknown): ToolDescription & { readonly name: string }
  /** Whether a call names a file outside the session's folders, or changes a protected one. */
  reach(kind: ToolKind, input: unknown): Reach
  /** True if the call changes a protected file: a person must be asked, even where Claude Code would not ask. */
  mustAsk(call: HookedCall): boolean
  /** True if Claude Code does not ask about this kind of call in its current mode unless it has a reason to. */
  insists(kind: ToolKind): boolean
  /** The diffs of the change that a call would make. */
  diffs(name: string, input: Readonly<Record<string, unknown>>): Promise<{ diffs?: Diff[] }>
  /** Resolves to our id of a call, once the host has recorded the call: a request must not precede its call. */
  callId(nativeId: string): Promise<string>
  /** The subagent that a call belongs to. */
  parentOf(toolCallId: string): { parentToolCallId?: string }
  /** Marks a call that will not run: its result is a refusal, not a failure. */
  denied(toolCallId: string): void
  /** Called when the plan was approved. Returns the mode of the session from now on. */
  leavePlan(): PermissionMode
  /** Stops the turn. */
  interrupt(): void
  /** A signal that aborts when the agent withdraws its request, but not when the agent dies. */
  withdrawn(signal: AbortSignal): AbortSignal
  readonly waits: HookWaits
  /** Whether Claude Code will certainly ask about this call. */
  willAsk(call: HookedCall): boolean
  /**
   * A deferred call is asked about again when its conversation is resumed: it is announced as a new call, or dismissed
   * if its turn is over. Any other call is fresh. The program may ask before it knows our hook.
   */
  calledAgain(nativeId: string, tool: string, input: unknown): Promise<'fresh' | 'again' | 'dismissed'>
}

export type HookedCall = {
  readonly tool: string
  readonly input: unknown
  /**
   * Whether Claude Code reports that it is in plan mode. It may enter that mode by itself, whatever the session's mode
   * is.
   */
  readonly planning: boolean
}

type Asked = Pick<
  Parameters<CanUseTool>[2],
  'toolUseID' | 'suggestions' | 'title' | 'decisionReason' | 'signal'
> & {
  /** Sent, but undeclared in the SDK: `safetyCheck` means that Claude Code considers the file sensitive. */
  readonly decisionReasonType?: string
  /** True if Claude Code itself asks, not our hook. */
  readonly isOwn?: boolean
}

/** These tools have no effect of their own: the calls that they lead to are checked separately. */
const neverForbidden = new Set(['AskUserQuestion', 'ExitPlanMode', 'EnterPlanMode', 'StructuredOutput'])
/** Claude asks about these after the hook in every mode; for other tools the hook must request it. */
const alwaysAsked = new Set(['AskUserQuestion', 'ExitPlanMode'])

/**
 * Runs before every call. It asks about calls that Claude Code would ask about anyway, because a call that waits in
 * the hook can be deferred. It also enforces the host's refusals for calls that Claude Code would approve without
 * asking: those that the person's settings allow, those that it considers safe, and in some modes all.
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

/** The output of the hook for a call about which Claude must not ask again. */
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
    ...context.reach(kind, native),
    ...(await context.diffs(name, native)),
  })
  if (answer.outcome === 'allowed')
    return decided('allow', answer.input as Record<string, unknown> | undefined)
  context.denied(toolCallId)
  if (answer.outcome === 'denied' && answer.endTurn) context.interrupt()
  const reason = (answer.outcome === 'denied' && answer.message) || 'Parley refuses this.'
  return decided('deny', undefined, reason)
}

/** Answers the agent's permission requests. A request that the hook has answered is not asked again. */
export function createCanUseTool(context: PermissionContext): CanUseTool {
  return async (name, input, asked) => {
    const fate = await context.calledAgain(asked.toolUseID, name, input)
    if (fate === 'dismissed') return dismissal
    return context.waits.take(asked.toolUseID) ?? decide(context, name, input, { ...asked, isOwn: true })
  }
}

/** Answers the elicitation of an MCP server during a call. */
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

/** Answers by question text. Several labels are joined by commas, and quoted if they contain a comma or quotes. */
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
