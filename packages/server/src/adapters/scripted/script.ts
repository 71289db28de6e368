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
 * What a scripted agent does in one turn, as data: a script can be generated, stored and sent. Steps play in order;
 * a turn whose script has no `end` ends as completed. The player owns ids, pace and what a step looks like as outputs.
 */
export type Script = readonly Step[]

export type Step =
  // says
  | TextStep
  | ThinkingStep
  | RetractionStep
  | NoticeStep
  | UnrecognisedStep
  | FloodStep
  // does
  | ToolStep
  | PermissionStep
  | HostToolStep
  | ParallelStep
  | SubagentStep
  // asks
  | QuestionStep
  | PlanApprovalStep
  // tells of its state
  | PlanStep
  | UsageStep
  | CompactionStep
  | RenameStep
  | NewAgentSessionStep
  | ToolsStep
  // waits
  | WaitStep
  | PauseStep
  | HangStep
  // stops
  | EndStep
  | CrashStep
  | VanishStep

export type StepType = Step['type']
export type StepOf<Type extends StepType> = Extract<Step, { type: Type }>

/** Streamed in `pieces` equal pieces, then written; without `pieces` word by word, with 0 only written. */
type Said = { readonly text: string; readonly pieces?: number }
export type TextStep = Said & { readonly type: 'text' }
export type ThinkingStep = Said & { readonly type: 'thinking' }

/** A text that is taken back: after it was written, or with `unwritten` while it is still being streamed. */
export type RetractionStep = Said & {
  readonly type: 'retraction'
  readonly reason?: string
  readonly unwritten?: true
}

export type NoticeStep = {
  readonly type: 'notice'
  readonly level: 'info' | 'warning' | 'error'
  readonly code: string
  readonly text: string
  readonly data?: unknown
}

/** A native message that no adapter could understand. */
export type UnrecognisedStep = { readonly type: 'unrecognised'; readonly native: unknown }

/** `deltas` pieces of `size` characters in `blocks` blocks, one after another, as fast as the reader takes them. */
export type FloodStep = {
  readonly type: 'flood'
  readonly deltas: number
  readonly size: number
  readonly blocks?: number
  readonly of?: 'text' | 'thinking' | 'tool-output'
}

/**
 * `text` is appended to the file at `path`, inside the session's folder, so that a test can count how often it ran; with
 * `anew` it is all that the file has.
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
  /** In how many fragments the input is streamed before the call; 0: not at all. */
  readonly inputPieces?: number
  /** Streamed as output, piece by piece. */
  readonly output?: readonly string[]
  readonly outcome?: ToolOutcome
  /** What the call ends with; without it, its output as text. */
  readonly content?: readonly ToolContent[]
  readonly effect?: Effect
}

/** A call that needs no permission. `order` is how its call and its result reach us. */
export type ToolStep = CallSpec & {
  readonly type: 'tool'
  readonly order?: 'call-first' | 'result-first' | 'result-only' | 'call-only'
}

type AfterAnswer = {
  /** Said after the answer, when it was this one. */
  readonly reply?: { readonly allowed?: string; readonly denied?: string }
  /** A denied one ends the turn, as if all was said. */
  readonly endOnDenied?: true
}

/** A call that runs only if it is allowed; a denied one ends as denied and the script goes on. */
export type PermissionStep = CallSpec & {
  readonly type: 'permission'
  readonly reason?: string
  readonly readOnly?: boolean
  readonly diffs?: readonly Diff[]
  readonly suggestions?: readonly PermissionOption[]
} & AfterAnswer

/**
 * A call of a host tool; what comes back is said. The agent asks before it calls, as most do; with `unasked` it leaves
 * that to the host.
 */
export type HostToolStep = {
  readonly type: 'host-tool'
  readonly name: string
  readonly input?: unknown
  readonly unasked?: true
}

/** All calls are made, then all permissions asked at once; each goes on when its own answer comes. */
export type ParallelStep = {
  readonly type: 'parallel'
  readonly calls: readonly (ToolStep | PermissionStep)[]
}

/** Everything in `steps` carries the tool call of the subagent as its parent. */
export type SubagentStep = {
  readonly type: 'subagent'
  readonly title: string
  readonly name?: string
  readonly steps: Script
  readonly summary?: string
  readonly background?: boolean
}

/** The answers are said back in a text. With `tool` the question is a tool call of that name. */
export type QuestionStep = {
  readonly type: 'question'
  readonly questions: readonly Question[]
  readonly tool?: string
}

/** A permission of kind plan. */
export type PlanApprovalStep = {
  readonly type: 'plan-approval'
  readonly plan: string
} & AfterAnswer

export type PlanStep = { readonly type: 'plan'; readonly entries: readonly PlanEntry[] }
export type UsageStep = { readonly type: 'usage' } & Usage
export type CompactionStep = {
  readonly type: 'compaction'
  readonly trigger?: 'manual' | 'auto'
  readonly before?: number
  readonly after?: number
  readonly summary?: string
}
export type RenameStep = { readonly type: 'rename'; readonly title: string }
/** The agent goes on under another id of its own; the latest one it told is the one to resume. */
export type NewAgentSessionStep = { readonly type: 'new-agent-session'; readonly agentSessionId: string }

/** The agent tells what tools it has, true or not. */
export type ToolsStep = { readonly type: 'tools'; readonly tools: readonly string[] }

/** Until a test opens the gate. */
export type WaitStep = { readonly type: 'wait'; readonly gate: string }
export type PauseStep = { readonly type: 'pause'; readonly ms: number }
/** Does nothing until it is interrupted; with `stubborn` not even then, so the host must close the connection. */
export type HangStep = { readonly type: 'hang'; readonly stubborn?: true }

/** The turn's end: nothing after it is played. */
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
/** The agent's process dies, and says how. */
export type CrashStep = {
  readonly type: 'crash'
  readonly exitCode?: number | null
  readonly signal?: string
  readonly stderrTail?: string
}
/** The events just end: no result, no reason. */
export type VanishStep = { readonly type: 'vanish' }

/** True for a step that asks a person something itself, not through steps inside it. */
export function asksPerson(step: Step): boolean {
  return ['permission', 'host-tool', 'question', 'plan-approval'].includes(step.type)
}

/** The steps inside a step, in the order that their paths count them. */
export function innerSteps(step: Step): Script {
  if (step.type === 'subagent') return step.steps
  if (step.type === 'parallel') return step.calls
  return []
}

/** Where a step stands in its script: `2`, or `2.0` for the first step inside it. */
export function stepPath(outer: string, index: number): string {
  return outer === '' ? String(index) : `${outer}.${index}`
}

/** A script written as JSON in a prompt's text, so that a test can send one through any face. */
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
