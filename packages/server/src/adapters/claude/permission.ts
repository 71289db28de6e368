import type { CanUseTool, HookCallback, PermissionResult } from '@anthropic-ai/claude-agent-sdk'
import type { Answers, Question } from '@parley/protocol'
import type { PermissionAsk, Person } from '../../core/agent-adapter.ts'
import { nativeModes } from './settings.ts'
import { describeTool } from './translate-tool-call.ts'

export type PermissionContext = {
  readonly person: Person
  readonly cwd: string
  /** Our id of a call, once the host has taken it: a request must not come before its call. */
  callId(nativeId: string): Promise<string>
  /** The call will not run: its result is a refusal, not a failure. */
  denied(toolCallId: string): void
  /** The plan was approved: what the session may do from now on. */
  modeAfterPlan(): keyof typeof nativeModes
  /** A signal that fires when the agent takes its question back, and never because it died. */
  withdrawn(signal: AbortSignal): AbortSignal
}

type Asked = Parameters<CanUseTool>[2]

/** Not tools that do something: what they lead to is looked at by itself. */
const neverForbidden = new Set(['AskUserQuestion', 'ExitPlanMode', 'EnterPlanMode'])

/**
 * Claude Code approves some calls without asking: what the person's own settings allow, what it holds to be safe, and
 * in some modes everything. The host's refusals hold for those too.
 */
export function createRefusalHook(context: PermissionContext): HookCallback {
  return async (input, toolUseID) => {
    if (input.hook_event_name !== 'PreToolUse' || neverForbidden.has(input.tool_name)) return {}
    const native = input.tool_input as Record<string, unknown>
    const { kind, title } = describeTool(input.tool_name, native, context.cwd)
    const ask: PermissionAsk = { tool: input.tool_name, kind, title, input: native }
    if (kind === 'subagent' || !context.person.forbids(ask)) return {}
    const toolCallId = await context.callId(toolUseID ?? input.tool_use_id)
    const answer = await context.person.permit({ ...ask, toolCallId })
    if (answer.outcome === 'allowed') return {}
    context.denied(toolCallId)
    const reason = (answer.outcome === 'denied' && answer.message) || 'Parley refuses this.'
    return {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: reason,
      },
    }
  }
}

/** The agent's question whether a tool may run, to the host and back. */
export function createCanUseTool(context: PermissionContext): CanUseTool {
  return async (name, input, asked) => {
    const toolCallId = await context.callId(asked.toolUseID)
    if (name === 'AskUserQuestion') return answerQuestion(context, input, asked, toolCallId)
    const ask = permissionAsk(name, input, asked, { toolCallId, cwd: context.cwd })
    const answer = await context.person.permit(ask, context.withdrawn(asked.signal))
    if (answer.outcome === 'allowed') {
      const updatedInput = (answer.input ?? input) as Record<string, unknown>
      if (name !== 'ExitPlanMode') return { behavior: 'allow', updatedInput }
      const mode = nativeModes[context.modeAfterPlan()]
      return {
        behavior: 'allow',
        updatedInput,
        updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }],
      }
    }
    context.denied(toolCallId)
    if (answer.outcome === 'cancelled') return { behavior: 'deny', message: 'Cancelled.', interrupt: true }
    const message = answer.message ?? 'The person said no.'
    return { behavior: 'deny', message, ...(answer.endTurn && { interrupt: true }) }
  }
}

function permissionAsk(
  name: string,
  input: Record<string, unknown>,
  asked: Asked,
  { toolCallId, cwd }: { toolCallId: string; cwd: string },
): PermissionAsk {
  const { kind, title } = describeTool(name, input, cwd)
  return {
    toolCallId,
    tool: name,
    kind,
    title: asked.title ?? title,
    input,
    ...(asked.decisionReason !== undefined && { reason: asked.decisionReason }),
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
  { person, withdrawn, denied }: PermissionContext,
  input: Record<string, unknown>,
  asked: Asked,
  toolCallId: string,
): Promise<PermissionResult> {
  const native = (input.questions ?? []) as readonly NativeQuestion[]
  const answer = await person.answer({ toolCallId, questions: native.map(question) }, withdrawn(asked.signal))
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
