import { appendFileSync, writeFileSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import type { AgentOutput, PermissionAnswer, PermissionAsk } from '@parley/adapter-kit'
import { type Answers, messageOf, type ToolContent } from '@parley/protocol'
import { aborted } from './gates.ts'
import { inPieces, writeText } from './play-text.ts'
import {
  type CallSpec,
  type Effect,
  type ParallelStep,
  type PermissionStep,
  type PlanApprovalStep,
  type QuestionStep,
  stepPath,
  type ToolStep,
} from './script.ts'
import { type Place, type Playing, parentOf, type Turn } from './turn.ts'

/** One tool call from its announcement to its end. */
export type Call = { readonly toolCallId: string; readonly spec: CallSpec; readonly place: Place }
type Outputs = AsyncGenerator<AgentOutput>

export async function* playTool(turn: Turn, step: ToolStep, place: Place): Playing {
  const call = { toolCallId: turn.newId('call'), spec: step, place }
  const { order = 'call-first' } = step
  if (order === 'result-first' && !isForbidden(turn, call)) {
    yield* run(turn, call)
    yield* announce(turn, call)
    return undefined
  }
  if (order !== 'result-only') yield* announce(turn, call)
  return order === 'call-only' ? undefined : yield* runUnlessForbidden(turn, call)
}

/** True if a rule or the mode refuses a call for which the script does not ask for permission. */
function isForbidden(turn: Turn, { spec, place }: Call): boolean {
  return turn.person.forbids(askAbout({ spec, place }))
}

/** Runs a call without asking for permission. Reports a refused call to the host, as real agents do. */
async function* runUnlessForbidden(turn: Turn, call: Call): Playing {
  if (!isForbidden(turn, call)) {
    yield* run(turn, call)
    return undefined
  }
  const asking: PermissionCall = { ...call, spec: { ...call.spec, type: 'permission' } }
  return yield* settle(turn, asking, await askPermission(turn, asking))
}

export async function* playPermission(turn: Turn, step: PermissionStep, place: Place): Playing {
  const call = { toolCallId: turn.newId('call'), spec: step, place }
  yield* announce(turn, call)
  return yield* settle(turn, { ...call, spec: step }, await askPermission(turn, { ...call, spec: step }))
}

export function playPlanApproval(turn: Turn, step: PlanApprovalStep, place: Place): Playing {
  const { plan, reply, endOnDenied } = step
  const call: PermissionStep = {
    type: 'permission',
    name: 'ExitPlanMode',
    kind: 'plan',
    title: 'Approve the plan',
    input: { plan },
    output: ['The plan is approved.'],
    readOnly: true,
    ...(reply && { reply }),
    ...(endOnDenied && { endOnDenied }),
  }
  return playPermission(turn, call, place)
}

export async function* playParallel(turn: Turn, step: ParallelStep, outer: Place): Playing {
  const tools: Call[] = []
  const asking: PermissionCall[] = []
  for (const [index, spec] of step.calls.entries()) {
    const place = { ...outer, path: stepPath(outer.path, index) }
    if (outer.resuming && (spec.type === 'tool' || turn.answered.has(place.path))) continue
    const toolCallId = turn.newId('call')
    if (spec.type === 'permission') asking.push({ toolCallId, spec, place })
    else if (spec.order !== 'call-only') tools.push({ toolCallId, spec, place })
    if (spec.type === 'permission' || spec.order !== 'result-only')
      yield* announce(turn, { toolCallId, spec, place })
  }
  const waiting = new Map(
    asking.map((call) => [call, askPermission(turn, call).then((answer) => ({ call, answer }))]),
  )
  for (const call of tools) {
    const ending = yield* runUnlessForbidden(turn, call)
    if (ending) return ending
  }
  while (waiting.size > 0) {
    const { call, answer } = await Promise.race(waiting.values())
    waiting.delete(call)
    const ending = yield* settle(turn, call, answer)
    if (ending) return ending
  }
  return undefined
}

export async function* playQuestion(turn: Turn, step: QuestionStep, place: Place): Playing {
  const questions = [...step.questions]
  const spec: CallSpec = { name: step.tool ?? '', title: 'Ask a question', input: { questions } }
  const call = step.tool === undefined ? undefined : { toolCallId: turn.newId('call'), spec, place }
  if (call) yield* announce(turn, call)
  const ask = { questions, ...(call && { toolCallId: call.toolCallId }), ...parentOf(place) }
  turn.remember('asked', place.path)
  const answer = await answerTo(turn, turn.person.answer(ask, turn.interrupted))
  if (answer?.outcome !== 'answered') {
    if (call) yield ended(call, 'cancelled', [])
    return { type: 'end', outcome: 'cancelled' }
  }
  turn.remember('answered', place.path)
  const text = answersInWords(step, answer.answers)
  if (call) yield ended(call, 'completed', [{ type: 'text', text }])
  return yield* writeText(turn, text, place)
}

function answersInWords(step: QuestionStep, answers: Answers): string {
  const lines = step.questions.map(
    ({ id, header }) => `${header || id}: ${[answers[id] ?? []].flat().join(', ')}`,
  )
  return `You answered: ${lines.join('; ')}.`
}

/** Streams the input of the call in fragments, then announces the call. */
export async function* announce(turn: Turn, call: Call): Outputs {
  const { toolCallId, spec, place } = call
  const { name, kind = 'other', title = name, input = {}, locations, inputPieces = 3 } = spec
  const shown = { toolCallId, name, kind, title, ...parentOf(place) }
  if (inputPieces > 0) {
    yield { type: 'tool-call.drafted', ...shown }
    for (const text of inPieces(JSON.stringify(input), inputPieces)) {
      yield { type: 'tool-call.input-streamed', toolCallId, text }
      await turn.pace()
    }
  }
  yield { type: 'tool-call.called', ...shown, input, ...(locations && { locations: [...locations] }) }
}

type PermissionCall = Call & { readonly spec: PermissionStep }

function askPermission(turn: Turn, call: PermissionCall): Promise<PermissionAnswer | undefined> {
  turn.remember('asked', call.place.path)
  const ask = { ...askAbout(call), toolCallId: call.toolCallId }
  return answerTo(turn, turn.person.permit(ask, turn.interrupted))
}

function askAbout({
  spec,
  place,
}: {
  spec: CallSpec & Partial<PermissionStep>
  place: Place
}): PermissionAsk {
  const { name, kind = 'other', title = name, input = {}, reason, readOnly, diffs, suggestions } = spec
  return {
    tool: name,
    kind,
    title,
    input,
    ...(reason !== undefined && { reason }),
    ...(readOnly !== undefined && { readOnly }),
    ...(diffs && { diffs }),
    ...(suggestions && { suggestions }),
    ...parentOf(place),
  }
}

/** The answer, or undefined if the turn or the agent ended meanwhile: the answer must then have no effect. */
export async function answerTo<Answer>(turn: Turn, answer: Promise<Answer>): Promise<Answer | undefined> {
  const given = await Promise.race([answer, aborted(turn.stopped)])
  return turn.stopped.aborted || given === undefined ? undefined : (given as Answer)
}

/**
 * Applies the answer. The transcript records the answer before the effect, so that after a kill the effect happened
 * once or not at all.
 */
async function* settle(turn: Turn, call: PermissionCall, given: PermissionAnswer | undefined): Playing {
  const { spec, place } = call
  const answer = turn.stopped.aborted ? undefined : given
  switch (answer?.outcome) {
    case 'allowed':
      turn.remember('answered', place.path)
      yield* run(turn, call, answer.input)
      return spec.reply?.allowed === undefined ? undefined : yield* writeText(turn, spec.reply.allowed, place)
    case 'denied':
      turn.remember('answered', place.path)
      yield ended(call, 'denied', [{ type: 'text', text: answer.message ?? 'Denied.' }])
      if (answer.endTurn) return { type: 'end', outcome: 'cancelled', stopReason: 'denied' }
      if (spec.reply?.denied !== undefined) yield* writeText(turn, spec.reply.denied, place)
      return spec.endOnDenied ? { type: 'end' } : undefined
    default:
      yield ended(call, 'cancelled', [])
      return { type: 'end', outcome: 'cancelled' }
  }
}

/** Runs a call. Applies the effect before any output about it; `edited` is the input as a person changed it. */
async function* run(turn: Turn, call: Call, edited?: unknown): Outputs {
  const { toolCallId, spec, place } = call
  const problem = spec.effect && applyEffect(turn.cwd, spec.effect, edited)
  if (edited !== undefined) yield { type: 'tool-call.updated', toolCallId, input: edited, ...parentOf(place) }
  if (problem !== undefined) {
    yield ended(call, 'failed', [{ type: 'text', text: problem }])
    return
  }
  const output = spec.output ?? []
  for (const text of output) {
    yield { type: 'tool-call.output-streamed', toolCallId, text }
    await turn.pace()
  }
  const content =
    spec.content ?? (output.length > 0 ? [{ type: 'text' as const, text: output.join('') }] : [])
  yield ended(call, spec.outcome ?? 'completed', [...content])
}

export function ended(
  { toolCallId, place }: Call,
  outcome: 'completed' | 'failed' | 'denied' | 'cancelled',
  content: ToolContent[],
): AgentOutput {
  return { type: 'tool-call.ended', toolCallId, outcome, content, ...parentOf(place) }
}

/**
 * Applies the only side effect of a script: appends to a file in the session's folder, or overwrites it. `path` and
 * `text` of an edited input replace those of the script. Returns the reason for a failure, or undefined on success.
 */
function applyEffect(cwd: string, effect: Effect, edited: unknown): string | undefined {
  const { path, text } = { ...effect.writeFile, ...stringsOf(edited) }
  const file = resolve(cwd, path)
  const fromFolder = relative(cwd, file)
  if (fromFolder === '' || fromFolder === '..' || fromFolder.startsWith(`..${sep}`))
    return `${path} is not in this folder.`
  try {
    if (effect.writeFile.anew) writeFileSync(file, text)
    else appendFileSync(file, text)
    return undefined
  } catch (error) {
    return `${path} could not be written: ${messageOf(error)}`
  }
}

function stringsOf(edited: unknown): { path?: string; text?: string } {
  if (typeof edited !== 'object' || edited === null) return {}
  const { path, text } = edited as { path?: unknown; text?: unknown }
  return { ...(typeof path === 'string' && { path }), ...(typeof text === 'string' && { text }) }
}
