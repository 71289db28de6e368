import { isDeepStrictEqual } from 'node:util'
import {
  type Actor,
  type Block,
  type BlockOf,
  editedCommand,
  isRecord,
  type ResolvedBy,
  type SessionState,
  visible,
  waitsOf,
} from '@parley/protocol'

/** The texts of blocks that the HTML document, the Markdown document and the terminal output share. */

export function sessionFacts(state: SessionState): [name: string, value: string][] {
  return [
    ['Agent', state.agent],
    ...(state.effective.model ? [['Model', state.effective.model] as [string, string]] : []),
    ['Folder', state.cwd],
    ['Started', timeText(state.createdAt)],
    ['Session', `${state.id}, up to event ${state.seq}`],
  ]
}

/** A time with its zone, such as `2026-11-16 06:15 UTC`. */
function timeText(at: number): string {
  const parts = Object.fromEntries(timeFormat.formatToParts(at).map(({ type, value }) => [type, value]))
  const { year, month, day, hour, minute, timeZoneName } = parts
  return `${year}-${month}-${day} ${hour}:${minute} ${timeZoneName}`
}

const timeFormat = new Intl.DateTimeFormat('en', {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
})

/**
 * A note with the delivery and the sender of a prompt; undefined if the prompt just started a turn and names no sender.
 */
export function promptNote({ delivery, status, actor, takenBack }: BlockOf<'prompt'>): string | undefined {
  const delivered = status === 'sent' ? (delivery === 'steer' ? 'steered' : undefined) : status
  const back = takenBack === undefined ? undefined : 'taken back'
  const notes = [delivered, actor && `by ${actorText(actor)}`, back].filter((note) => note !== undefined)
  return notes.length > 0 ? notes.join(', ') : undefined
}

/** A person, and the browser, token or link, such as `Ada (Firefox on Linux)`. */
function actorText({ person, device, token, link }: Actor): string {
  const means = device ?? token ?? link
  return visible(means ? `${person.name} (${means.name})` : person.name)
}

export function permissionText({ request, resolution, resolvedBy }: BlockOf<'permission'>): string {
  if (!resolution) return 'not answered yet'
  const scope = resolution.scope && resolution.scope !== 'once' ? `, scope ${resolution.scope}` : ''
  const changed = changedInput(request.input, resolution.input) ? ' with changes' : ''
  return `${resolution.outcome}${changed} ${resolverText({ ...resolution, actor: resolvedBy })}${scope}`
}

/** The person or the other cause that resolved a request, with a note on a carried answer. */
export function resolverText({
  by,
  carriedFrom,
  actor,
}: {
  by: ResolvedBy
  carriedFrom?: string | undefined
  actor?: Actor | undefined
}): string {
  const whom = by === 'person' && actor ? `by ${actorText(actor)}` : resolvers[by]
  return `${whom}${carriedText(carriedFrom)}`
}

function carriedText(carriedFrom: string | undefined): string {
  return carriedFrom === undefined ? '' : ', with an earlier answer'
}

const resolvers: Readonly<Record<ResolvedBy, string>> = {
  person: 'by a person',
  rule: 'by a rule',
  mode: 'by the mode',
  timeout: 'because nobody answered in time',
  'turn-end': 'because the turn ended first',
  'task-end': 'because the background task ended first',
}

/** The fields of the input that a person changed, or the whole input if fields were removed. */
function changedInput(asked: unknown, allowed: unknown): unknown {
  if (allowed === undefined || isDeepStrictEqual(asked, allowed)) return undefined
  if (!isRecord(allowed)) return { input: allowed }
  if (!isRecord(asked)) return allowed
  if (Object.keys(asked).some((name) => !Object.hasOwn(allowed, name))) return allowed
  return Object.fromEntries(
    Object.entries(allowed).filter(([name, value]) => !isDeepStrictEqual(asked[name], value)),
  )
}

/** The input that ran instead of the agent's input: a changed command as text, other fields as JSON. */
export function changeText(asked: unknown, allowed: unknown, indent?: number): string | undefined {
  const changed = changedInput(asked, allowed)
  if (!isRecord(changed)) return undefined
  const { command, ...rest } = changed
  const json = (fields: unknown) => visible(JSON.stringify(fields, null, indent))
  if (typeof command !== 'string') return json(changed)
  return Object.keys(rest).length > 0 ? `${visible(command)}\n${json(rest)}` : visible(command)
}

/** Facts about a block that come from other blocks. */
export type BlockFacts = {
  /** For calls and turn ends: the time that requests waited for people, in milliseconds. */
  readonly waits: ReadonlyMap<Block, number>
  /** The changed command that ran instead of the agent's, by tool call. */
  readonly commands: ReadonlyMap<string, string>
  /** The tool calls that ask a question. The block of the question shows their input. */
  readonly questions: ReadonlySet<string>
}

export function factsOf(timeline: readonly Block[]): BlockFacts {
  const asked = timeline.flatMap((block) =>
    block.type === 'question' ? (block.request.toolCallId ?? []) : [],
  )
  return { waits: waitsOf(timeline), commands: editedCommands(timeline), questions: new Set(asked) }
}

function editedCommands(timeline: readonly Block[]): ReadonlyMap<string, string> {
  const commands = new Map<string, string>()
  for (const block of timeline) {
    if (block.type !== 'permission') continue
    const command = editedCommand(block.request.input, block.resolution?.input)
    if (block.request.toolCallId && command) commands.set(block.request.toolCallId, command)
  }
  return commands
}

export function shownAnswer({ resolution }: BlockOf<'question'>, questionId: string): string {
  if (!resolution) return 'not answered yet'
  const answer = resolution.answers?.[questionId]
  if (answer === undefined) return resolution.outcome
  return `${[answer].flat().join(', ')}${carriedText(resolution.carriedFrom)}`
}

/** The heading of the answer to a question, with the name of the person who gave it, if it is recorded. */
export function answerTitle({ resolvedBy }: BlockOf<'question'>): string {
  return resolvedBy ? `Answer by ${actorText(resolvedBy)}` : 'Answer'
}

/** `waited` is the time that requests waited for people during the turn, in milliseconds. */
export function turnEndText({ end }: BlockOf<'turn-end'>, waited: number): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const facts = [
    seconds(Math.max(0, end.durationMs - waited)),
    ...(waited >= 1000 ? [`${seconds(waited)} waiting for a person`] : []),
    ...(end.usage ? [`${end.usage.input} tokens in, ${end.usage.output} out`] : []),
    ...(end.costUsd !== undefined
      ? [`$${end.costUsd.toFixed(4)}${end.notionalCost ? ' at list price' : ''}`]
      : []),
  ]
  const outcome = end.outcome === 'unknown' ? 'Outcome unknown' : `Turn ${end.outcome}`
  return `${outcome}: ${facts.join(', ')}`
}

/** A notice as text. Its code is left out, because only programs need it. */
export function noticeText({ level, text }: BlockOf<'notice'>): string {
  return level === 'info' ? text : `${level === 'error' ? 'Error' : 'Warning'}: ${text}`
}

/** The input of a call; empty if a question shows it. */
export function callInputText({ id, input }: BlockOf<'tool-call'>, { questions }: BlockFacts): string {
  return questions.has(id) ? '' : inputText(input)
}

export function inputText(input: unknown): string {
  if (input === undefined) return ''
  return visible(typeof input === 'string' ? input : JSON.stringify(input, null, 2))
}
