import type {
  Diff,
  ErrorInfo,
  PermissionOption,
  PlanEntry,
  Question,
  TokenUsage,
  ToolContent,
  ToolKind,
  ToolLocation,
  ToolOutcome,
  TurnOutcome,
  Usage,
} from '@parley/protocol'

/**
 * The actions of a scripted agent in one turn, as data that can be generated, stored and sent. Steps play in order; a
 * script without `end` ends as completed. The player assigns ids, sets the pace and produces the outputs of each step.
 */
export type Script = readonly Step[]

export type Step =
  // output
  | TextStep
  | ThinkingStep
  | RetractionStep
  | {
      readonly type: 'notice'
      readonly level: 'info' | 'warning' | 'error'
      readonly code: string
      readonly text: string
      readonly data?: unknown
    }
  /** A native message that an adapter does not recognise. */
  | { readonly type: 'unrecognised'; readonly native: unknown }
  | FloodStep
  // calls
  | ToolStep
  | PermissionStep
  | HostToolStep
  | ParallelStep
  | SubagentStep
  // requests
  | QuestionStep
  | PlanApprovalStep
  // state
  | { readonly type: 'plan'; readonly entries: readonly PlanEntry[] }
  | ({ readonly type: 'usage' } & Usage)
  | CompactionStep
  | { readonly type: 'rename'; readonly title: string }
  /** The agent continues under a new agent session id. A resume uses the last reported id. */
  | { readonly type: 'new-agent-session'; readonly agentSessionId: string }
  /** The agent reports this list of tools, which need not be correct. */
  | { readonly type: 'tools'; readonly tools: readonly string[] }
  // waiting
  /** Waits until a test opens the gate. */
  | { readonly type: 'wait'; readonly gate: string }
  | { readonly type: 'pause'; readonly ms: number }
  /** Does nothing until it is interrupted. With `stubborn`, only closing the connection ends it. */
  | { readonly type: 'hang'; readonly stubborn?: true }
  // end
  | EndStep
  | CrashStep
  /** The outputs end without a result or a reason. */
  | { readonly type: 'vanish' }

export type StepType = Step['type']
export type StepOf<Type extends StepType> = Extract<Step, { type: Type }>

/**
 * A text that is streamed in `pieces` equal pieces (word by word without `pieces`, not at all with 0), then written.
 */
type Streamed = { readonly text: string; readonly pieces?: number }
export type TextStep = Streamed & { readonly type: 'text' }
export type ThinkingStep = Streamed & { readonly type: 'thinking' }

/** A text that is retracted: after it was written, or with `unwritten` while it is still being streamed. */
export type RetractionStep = Streamed & {
  readonly type: 'retraction'
  readonly reason?: string
  readonly unwritten?: true
}

/** Streams `deltas` pieces of `size` characters in `blocks` consecutive blocks, as fast as the reader reads them. */
export type FloodStep = {
  readonly type: 'flood'
  readonly deltas: number
  readonly size: number
  readonly blocks?: number
  readonly of?: 'text' | 'thinking' | 'tool-output'
}

/**
 * Appends `text` to the file at `path` inside the session's folder, so that a test can count the runs; with `anew`,
 * overwrites the file.
 */
export type Effect = {
  readonly writeFile: { readonly path: string; readonly text: string; readonly anew?: true }
}

export type CallSpec = {
  readonly name: string
  readonly kind?: ToolKind
  readonly title?: string
  readonly input?: unknown
  readonly locations?: readonly ToolLocation[]
  /** The number of fragments in which the input is streamed before the call; 0: not streamed. */
  readonly inputPieces?: number
  /** The output, streamed piece by piece. */
  readonly output?: readonly string[]
  readonly outcome?: ToolOutcome
  /** The content at the end of the call; by default, its output as text. */
  readonly content?: readonly ToolContent[]
  readonly effect?: Effect
}

/** A call that needs no permission. `order` is the order in which the call and its result arrive. */
export type ToolStep = CallSpec & {
  readonly type: 'tool'
  readonly order?: 'call-first' | 'result-first' | 'result-only' | 'call-only'
}

type AfterAnswer = {
  /** The text written after an answer with this outcome. */
  readonly reply?: { readonly allowed?: string; readonly denied?: string }
  /** Set if a denial ends the turn as completed. */
  readonly endOnDenied?: true
}

/** A call that runs only if it is allowed. A denied call ends as denied, and the script continues. */
export type PermissionStep = CallSpec & {
  readonly type: 'permission'
  readonly reason?: string
  readonly readOnly?: boolean
  readonly diffs?: readonly Diff[]
  readonly suggestions?: readonly PermissionOption[]
} & AfterAnswer

/**
 * A call of a host tool; its result is written as text. The agent asks for permission before the call, as most agents
 * do; with `unasked`, only the host asks.
 */
export type HostToolStep = {
  readonly type: 'host-tool'
  readonly name: string
  readonly input?: unknown
  readonly unasked?: true
}

/** Announces all calls, then asks for all permissions at once; each call continues when its own answer arrives. */
export type ParallelStep = {
  readonly type: 'parallel'
  readonly calls: readonly (ToolStep | PermissionStep)[]
}

/** A subagent. All outputs of `steps` have its tool call as their parent. */
export type SubagentStep = {
  readonly type: 'subagent'
  readonly title: string
  readonly name?: string
  readonly steps: Script
  readonly summary?: string
  readonly background?: boolean
}

/**
 * A question to a person. The answers are repeated in a text. With `tool`, the question is a tool call of
 * that name.
 */
export type QuestionStep = {
  readonly type: 'question'
  readonly questions: readonly Question[]
  readonly tool?: string
}

export type PlanApprovalStep = {
  readonly type: 'plan-approval'
  readonly plan: string
} & AfterAnswer

export type CompactionStep = {
  readonly type: 'compaction'
  readonly trigger?: 'manual' | 'auto'
  readonly before?: number
  readonly after?: number
  readonly summary?: string
}

/** Ends the turn. Later steps are not played. */
export type EndStep = {
  readonly type: 'end'
  readonly outcome?: TurnOutcome
  readonly stopReason?: string
  readonly error?: ErrorInfo
  readonly usage?: TokenUsage
  readonly costUsd?: number
  readonly result?: string
  readonly structuredOutput?: unknown
}
/** The agent's process dies. The agent reports the exit code, the signal and the end of stderr. */
export type CrashStep = {
  readonly type: 'crash'
  readonly exitCode?: number | null
  readonly signal?: string
  readonly stderrTail?: string
}

/** True if the step itself asks a person something; steps inside it do not count. */
export function asksPerson(step: Step): boolean {
  return ['permission', 'host-tool', 'question', 'plan-approval'].includes(step.type)
}

/** The steps inside a step, in the order of their indexes in paths. */
export function innerSteps(step: Step): Script {
  if (step.type === 'subagent') return step.steps
  if (step.type === 'parallel') return step.calls
  return []
}

/** The path of a step in its script: `2`, or `2.0` for the first step inside it. */
export function stepPath(outer: string, index: number): string {
  return outer === '' ? String(index) : `${outer}.${index}`
}

/**
 * Parses the text of a prompt as a script in JSON, so that a test can send a script through any face. Any other text is
 * echoed.
 */
export function scriptInPrompt(text: string): Script {
  const echo: Script = [{ type: 'text', text }]
  if (!text.trim().startsWith('[')) return echo
  try {
    const steps: unknown = JSON.parse(text)
    return Array.isArray(steps) && steps.every(isStep) ? steps : echo
  } catch {
    return echo
  }
}

function isStep(value: unknown): value is Step {
  return typeof value === 'object' && value !== null && 'type' in value
}
