import type { AgentOutput } from '@parley/adapter-kit'
import { aborted } from './gates.ts'
import { playParallel, playPermission, playPlanApproval, playQuestion, playTool } from './play-call.ts'
import { playHostTool } from './play-host-tool.ts'
import { playFlood, playRetraction, playText } from './play-text.ts'
import { type EndStep, type Script, type Step, type StepOf, stepPath } from './script.ts'
import { isUnanswered, resumeIndex } from './transcript.ts'
import {
  type Ending,
  type Place,
  type Playing,
  parentOf,
  type TaskUpdated,
  type Turn,
  type TurnInput,
} from './turn.ts'

/** Plays a turn to its end, as fast as the consumer reads. Returns whether the agent stays connected. */
export async function* playTurn(input: TurnInput): AsyncGenerator<AgentOutput, 'stays' | 'gone', undefined> {
  const turn = startTurn(input)
  const steps = playSteps(turn, input.script, { path: '', parent: undefined, resuming: input.resuming })
  let ending: Ending | undefined
  for (;;) {
    const next = await steps.next()
    if (input.closed.aborted) return 'gone'
    if (input.interrupted.aborted) {
      ending = { type: 'end', outcome: 'cancelled' }
      break
    }
    if (next.done) {
      ending = next.value
      break
    }
    yield next.value
  }
  if (ending?.type === 'gone') {
    if (ending.last) yield ending.last
    return 'gone'
  }
  for (const task of turn.openTasks.values()) yield { ...task, status: 'stopped' }
  yield turnEnded(turn, ending ?? { type: 'end' })
  return 'stays'
}

function startTurn(input: TurnInput): Turn {
  let count = 0
  const stopped = AbortSignal.any([input.interrupted, input.closed])
  return {
    ...input,
    stopped,
    newId: (kind) => `${input.idPrefix}.${kind}-${++count}`,
    pace: () => (input.pieceDelayMs > 0 ? input.sleep(input.pieceDelayMs, stopped) : undefined),
    usage: undefined,
    openTasks: new Map(),
  }
}

const stopReasons = { completed: 'end_turn', cancelled: 'cancelled', failed: 'error', unknown: 'unknown' }

function turnEnded(turn: Turn, end: EndStep): AgentOutput {
  const { type, outcome = 'completed', stopReason = stopReasons[outcome], ...rest } = end
  return {
    ...(turn.usage && { usage: turn.usage.total }),
    ...(turn.usage?.costUsd !== undefined && { costUsd: turn.usage.costUsd }),
    ...(outcome === 'failed' && { error: { code: 'agent_failed', message: 'The script says it failed.' } }),
    ...rest,
    type: 'turn.ended',
    outcome,
    stopReason,
  }
}

async function* playSteps(turn: Turn, script: Script, outer: Place): Playing {
  const from = outer.resuming ? resumeIndex(script, outer.path, turn.answered) : 0
  for (const [index, step] of script.entries()) {
    if (index < from) continue
    const path = stepPath(outer.path, index)
    const resuming = outer.resuming && index === from && isUnanswered(step, path, turn.answered)
    yield { type: 'native', message: { scripted: 'step', path, step: step.type } }
    const ending = yield* playStep(turn, step, { path, parent: outer.parent, resuming })
    if (ending) return ending
  }
  return undefined
}

async function* playStep(turn: Turn, step: Step, place: Place): Playing {
  switch (step.type) {
    // output
    case 'text':
    case 'thinking':
      return yield* playText(turn, step, place)
    case 'retraction':
      return yield* playRetraction(turn, step, place)
    case 'flood':
      return yield* playFlood(turn, step, place)
    case 'notice':
      yield { ...step, type: 'agent.noticed', ...parentOf(place) }
      return
    case 'unrecognised':
      yield { type: 'agent.unrecognised', native: step.native, reason: 'no such native message is known' }
      return

    // calls and requests
    case 'tool':
      return yield* playTool(turn, step, place)
    case 'permission':
      return yield* playPermission(turn, step, place)
    case 'host-tool':
      return yield* playHostTool(turn, step, place)
    case 'parallel':
      return yield* playParallel(turn, step, place)
    case 'subagent':
      return yield* playSubagent(turn, step, place)
    case 'question':
      return yield* playQuestion(turn, step, place)
    case 'plan-approval':
      return yield* playPlanApproval(turn, step, place)

    // state
    case 'plan':
    case 'usage':
    case 'compaction':
    case 'rename':
    case 'new-agent-session':
    case 'tools':
      yield stateOutput(turn, step, place)
      return

    // waiting
    case 'wait':
      await turn.gates.pass(step.gate, turn.stopped)
      return
    case 'pause':
      await turn.sleep(step.ms, turn.stopped)
      return
    case 'hang':
      await aborted(step.stubborn ? turn.closed : turn.stopped)
      return

    // end
    case 'end':
      return step
    case 'crash':
      return { type: 'gone', last: crashed(step) }
    case 'vanish':
      return { type: 'gone' }
    default:
      throw new Error(`there is no step ${JSON.stringify(step)}`)
  }
}

type StateStep = StepOf<'plan' | 'usage' | 'compaction' | 'rename' | 'new-agent-session' | 'tools'>

function stateOutput(turn: Turn, step: StateStep, place: Place): AgentOutput {
  switch (step.type) {
    case 'plan':
      return { type: 'plan.updated', entries: [...step.entries], ...parentOf(place) }
    case 'usage':
      turn.usage = step
      return { ...step, type: 'usage.measured' }
    case 'compaction':
      return { trigger: 'auto', ...step, type: 'context.compacted' }
    case 'rename':
      return { type: 'session.renamed', title: step.title, by: 'agent' }
    case 'new-agent-session':
      return { type: 'agent.connected', agentSessionId: step.agentSessionId }
    case 'tools':
      return { type: 'agent.connected', tools: [...step.tools] }
  }
}

function crashed(step: StepOf<'crash'>): AgentOutput {
  const { exitCode = step.signal ? null : 1, signal, stderrTail = 'The script says it crashed.' } = step
  return {
    type: 'agent.disconnected',
    reason: 'crashed',
    error: { code: 'agent_failed', message: 'The agent stopped unexpectedly.' },
    exitCode,
    ...(signal !== undefined && { signal }),
    stderrTail,
  }
}

async function* playSubagent(turn: Turn, step: StepOf<'subagent'>, place: Place): Playing {
  const toolCallId = turn.newId('call')
  const taskId = turn.newId('task')
  const { title, name = 'Task', background } = step
  const task: TaskUpdated = {
    type: 'task.updated',
    taskId,
    toolCallId,
    title,
    status: 'running',
    ...(background !== undefined && { background }),
    ...parentOf(place),
  }
  yield {
    type: 'tool-call.called',
    toolCallId,
    name,
    kind: 'subagent',
    title,
    input: { description: title },
    ...parentOf(place),
  }
  turn.openTasks.set(taskId, task)
  yield task
  const ending = yield* playSteps(turn, step.steps, { ...place, parent: toolCallId })
  if (ending) return ending
  const summary = step.summary ?? `${title}: done.`
  turn.openTasks.delete(taskId)
  yield { ...task, status: 'completed', summary }
  yield {
    type: 'tool-call.ended',
    toolCallId,
    outcome: 'completed',
    content: [{ type: 'text', text: summary }],
    ...parentOf(place),
  }
  return undefined
}
