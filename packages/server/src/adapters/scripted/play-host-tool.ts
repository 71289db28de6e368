import type { HostToolAnswer, PermissionAnswer } from '@parley/adapter-kit'
import { hostToolName } from '@parley/protocol'
import { announce, answerTo, type Call, ended } from './play-call.ts'
import { writeText } from './play-text.ts'
import type { HostToolStep } from './script.ts'
import { type Place, type Playing, parentOf, type Turn } from './turn.ts'

export async function* playHostTool(turn: Turn, step: HostToolStep, place: Place): Playing {
  const { name, input = {}, unasked } = step
  const info = turn.hostTools?.tools.find((tool) => tool.name === name)
  const { kind = 'other', title = name } = info?.annotations ?? {}
  const call: Call = {
    toolCallId: turn.newId('call'),
    spec: { name: hostToolName(name), kind, title, input },
    place,
  }
  yield* announce(turn, call)
  turn.remember('asked', place.path)
  const permission = unasked ? undefined : await ask(turn, call)
  if (permission?.outcome === 'denied') {
    turn.remember('answered', place.path)
    yield ended(call, 'denied', [{ type: 'text', text: permission.message ?? 'Denied.' }])
    return permission.endTurn ? { type: 'end', outcome: 'cancelled', stopReason: 'denied' } : undefined
  }
  const edited = permission?.outcome === 'allowed' ? permission.input : undefined
  const isReady = unasked || permission?.outcome === 'allowed'
  const answer = isReady ? await run(turn, name, { ...call, input: edited ?? input }) : undefined
  if (!answer) {
    yield ended(call, 'cancelled', [])
    return { type: 'end', outcome: 'cancelled' }
  }
  turn.remember('answered', place.path)
  if (edited !== undefined) yield { type: 'tool-call.updated', toolCallId: call.toolCallId, input: edited }
  const outcome = answer.denied ? 'denied' : answer.isError ? 'failed' : 'completed'
  yield ended(call, outcome, [...answer.content])
  return yield* writeText(turn, `The tool says: ${textOf(answer)}`, place)
}

function ask(turn: Turn, { toolCallId, spec, place }: Call): Promise<PermissionAnswer | undefined> {
  const { name: tool, kind = 'other', title = tool, input } = spec
  const asked = turn.person.permit(
    { toolCallId, tool, kind, title, input, ...parentOf(place) },
    turn.interrupted,
  )
  return answerTo(turn, asked)
}

/** Runs the host tool. Returns undefined if the turn or the agent ended meanwhile. */
function run(
  turn: Turn,
  name: string,
  { toolCallId, input, place }: Call & { input: unknown },
): Promise<HostToolAnswer | undefined> {
  if (!turn.hostTools) {
    return Promise.resolve({ content: [{ type: 'text', text: `There is no tool ${name}.` }], isError: true })
  }
  const context = { toolCallId, ...parentOf(place), signal: turn.stopped }
  return answerTo(turn, turn.hostTools.call(name, input, context))
}

function textOf({ content }: HostToolAnswer): string {
  return content.map((part) => (part.type === 'text' ? part.text : part.type)).join(', ')
}
