import type {
  CanUseTool,
  HookCallback,
  HookJSONOutput,
  PermissionResult,
} from '@anthropic-ai/claude-agent-sdk'
import type { AgentOutput, PermissionAsk } from '@parley/adapter-kit'
import { type Asked, dismissal, type PermissionContext, permitCall } from './permission.ts'
import { answerQuestion } from './question.ts'

export type RequestContext = PermissionContext & {
  /** Resolves to our id of a call, once the host has recorded the call: a request must not precede its call. */
  callId(nativeId: string): Promise<string>
  /** True if the call changes a protected file. A person must then be asked, even where Claude Code would not ask. */
  mustAsk(call: HookedCall): boolean
  interrupt(): void
  readonly waits: HookWaits
  /** True if Claude Code will certainly ask about this call. */
  willAsk(call: HookedCall): boolean
  /**
   * Resolves to `again` for a deferred call that is announced as a new call after a resume, to `dismissed` if its turn
   * is over, and to `fresh` for any other call. The program may ask before our hook is registered.
   */
  calledAgain(nativeId: string, tool: string, input: unknown): Promise<'fresh' | 'again' | 'dismissed'>
}

export type HookedCall = {
  readonly tool: string
  readonly input: unknown
  /**
   * True if Claude Code reports that it is in plan mode. It may enter that mode by itself, in any mode of the
   * session.
   */
  readonly planning: boolean
}

/** These tools have no effect of their own: the calls that they lead to are checked separately. */
const neverForbidden = new Set(['AskUserQuestion', 'ExitPlanMode', 'EnterPlanMode', 'StructuredOutput'])
/**
 * Claude asks about these tools after the hook in every mode. It asks about other tools only if the hook requires it.
 */
const alwaysAsked = new Set(['AskUserQuestion', 'ExitPlanMode'])

/**
 * Runs before every call. It asks about calls that Claude Code would ask about anyway, because a call that waits in the
 * hook can be deferred. It also enforces the host's refusals for calls that Claude Code would approve without asking:
 * those that the settings allow, those that it considers safe, and in some modes all calls.
 */
export function createToolHook(context: RequestContext): HookCallback {
  return async (input, toolUseID, { signal }) => {
    if (input.hook_event_name !== 'PreToolUse') return {}
    const name = input.tool_name
    const native = input.tool_input as Record<string, unknown>
    const nativeId = toolUseID ?? input.tool_use_id
    const call = { tool: name, input: native, planning: input.permission_mode === 'plan' }
    const isCertain = input.agent_id === undefined && context.willAsk(call)
    const earlier = await context.calledAgain(nativeId, name, native)
    if (earlier === 'dismissed') return isCertain ? decided('ask') : inHook(context, dismissal)
    if (!isCertain && earlier === 'fresh') return refuseForbidden(context, call, native, nativeId)
    const answer = decide(context, name, native, { toolUseID: nativeId, signal })
    const outcome = await context.waits.wait(nativeId, answer)
    if (outcome === 'deferred') return decided('defer')
    if (alwaysAsked.has(name)) return {}
    return isCertain ? decided('ask') : inHook(context, context.waits.take(nativeId) ?? dismissal)
  }
}

/** The output of the hook for a call that Claude must not ask about again. */
function inHook(context: RequestContext, answer: PermissionResult): HookJSONOutput {
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
  context: RequestContext,
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
  const reason = (answer.outcome === 'denied' && answer.message) || 'Parley denied this call.'
  return decided('deny', undefined, reason)
}

/** Answers the agent's permission requests. A request that the hook has answered is not asked again. */
export function createCanUseTool(context: RequestContext): CanUseTool {
  return async (name, input, asked) => {
    const earlier = await context.calledAgain(asked.toolUseID, name, input)
    if (earlier === 'dismissed') return dismissal
    return context.waits.take(asked.toolUseID) ?? decide(context, name, input, { ...asked, isOwn: true })
  }
}

async function decide(
  context: RequestContext,
  name: string,
  input: Record<string, unknown>,
  asked: Asked,
): Promise<PermissionResult> {
  const toolCallId = await context.callId(asked.toolUseID)
  if (name === 'AskUserQuestion') return answerQuestion(context, input, { toolCallId, signal: asked.signal })
  return permitCall(context, { name, input, toolCallId }, asked)
}

/** Calls about which a person is asked inside the hook. Only a call that waits in the hook can be deferred. */
export class HookWaits {
  readonly #deferrals = new Map<string, () => void>()
  readonly #answers = new Map<string, PermissionResult>()

  /** Resolves when the answer arrives or the call is deferred. */
  async wait(nativeId: string, answer: Promise<PermissionResult>): Promise<'answered' | 'deferred'> {
    const deferred = new Promise<'deferred'>((resolve) => {
      this.#deferrals.set(nativeId, () => resolve('deferred'))
    })
    const answered = answer.then((result) => {
      this.#answers.set(nativeId, result)
      return 'answered' as const
    })
    try {
      return await Promise.race([deferred, answered])
    } finally {
      this.#deferrals.delete(nativeId)
    }
  }

  /** Removes and returns the answer that the hook received for a call. */
  take(nativeId: string): PermissionResult | undefined {
    const answer = this.#answers.get(nativeId)
    this.#answers.delete(nativeId)
    return answer
  }

  get waiting(): string[] {
    return [...this.#deferrals.keys()]
  }

  defer(nativeId: string): void {
    this.#deferrals.get(nativeId)?.()
  }
}

export type DeferredOutcome = 'again' | 'dismissed'

/**
 * A call that an earlier process of the conversation deferred. The resumed process asks about it at once; the host's
 * first message decides its outcome.
 */
export class DeferredCall {
  readonly nativeId: string
  readonly #announce: (name: string, input: unknown) => Promise<void>
  readonly #outcome = Promise.withResolvers<DeferredOutcome>()
  #asked: Promise<DeferredOutcome> | undefined
  #isDecided = false
  #isDropping = false

  constructor(nativeId: string, announce: (name: string, input: unknown) => Promise<void>) {
    this.nativeId = nativeId
    this.#announce = announce
  }

  get isDecided(): boolean {
    return this.#isDecided
  }

  /** Decides whether the turn continues with the call or is over. */
  decide(outcome: DeferredOutcome): void {
    this.#isDecided = true
    this.#isDropping = outcome === 'dismissed'
    this.#outcome.resolve(outcome)
  }

  /** True for messages about the dismissed call: all messages until the program starts the new prompt. */
  drops(message: object, promptUuid: string | undefined): boolean {
    const { type, state, command_uuid } = message as { type?: string; state?: string; command_uuid?: string }
    const isStart = type === 'command_lifecycle' && state === 'started' && command_uuid === promptUuid
    if (isStart) this.#isDropping = false
    return this.#isDropping
  }

  /** Announces the call once, however often the program asks. */
  ask(name: string, input: unknown): Promise<DeferredOutcome> {
    this.#asked ??= this.#outcome.promise.then(async (outcome) => {
      if (outcome === 'again') await this.#announce(name, input)
      return outcome
    })
    return this.#asked
  }
}

/** The calls that the host has recorded. A request about a call waits until the call is recorded. */
export class RecordedCalls {
  /** Calls of the main agent that have no result yet. */
  readonly open = new Set<string>()
  readonly #calls = new Map<string, PromiseWithResolvers<void>>()

  note(output: AgentOutput): void {
    if (output.type === 'tool-call.ended') this.open.delete(output.toolCallId)
    if (output.type !== 'tool-call.called') return
    if (output.parentToolCallId === undefined) this.open.add(output.toolCallId)
    this.#call(output.toolCallId).resolve()
  }

  recorded(toolCallId: string): Promise<void> {
    return this.#call(toolCallId).promise
  }

  /** Called when the process has ended: ends all waits, because nobody records these calls any more. */
  releaseAll(): void {
    for (const call of this.#calls.values()) call.resolve()
  }

  #call(toolCallId: string): PromiseWithResolvers<void> {
    const call = this.#calls.get(toolCallId) ?? Promise.withResolvers<void>()
    this.#calls.set(toolCallId, call)
    return call
  }
}
