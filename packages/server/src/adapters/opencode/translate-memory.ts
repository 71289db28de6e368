import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Part, Session, Todo, ToolPart } from '@opencode-ai/sdk/v2/client'
import { isAskAgain, type Remembered } from '@parley/adapter-kit'
import { withInterrupt, withoutTurn } from '@parley/adapter-kit/translation'
import type { PromptPart } from '@parley/protocol'
import type { NativeMessage } from './native.ts'
import { translate } from './translate.ts'
import { reconcileStatus, translateStoredCompaction, translateStoredPart } from './translate-snapshot.ts'
import { initialState, type TranslateState, type Translation, withTurn } from './translate-state.ts'
import { metadataOf } from './translate-tool-call.ts'

export type KeptSession = Pick<Session, 'id' | 'directory' | 'title' | 'time' | 'revert'>
export type KeptMessage = { readonly info: NativeMessage; readonly parts: readonly Part[] }

/**
 * Replays a conversation from its start, including subagents. `messagesOf` reads the messages of an OpenCode session.
 */
export async function* replayConversation(
  session: KeptSession,
  messagesOf: (sessionID: string) => Promise<readonly KeptMessage[]>,
): AsyncGenerator<Remembered> {
  const replay = new Replay(session)
  const subagents = new Map<string, readonly KeptMessage[]>()
  async function* replayAll(messages: readonly KeptMessage[]): AsyncGenerator<Remembered> {
    for (const [index, message] of messages.entries()) {
      if (message.info.sessionID === session.id) {
        yield* replay.prompt(message, promptOf(message, messages[index + 1], session.directory))
      }
      yield* replay.message(message.info)
      for (const part of message.parts) {
        const work = workOf(part)
        if (work) {
          yield* replay.part(message.info, work.begun)
          const all = subagents.get(work.sessionID) ?? (await messagesOf(work.sessionID))
          subagents.set(work.sessionID, all)
          yield* replayAll(
            all.filter(({ info }) => info.time.created >= work.from && info.time.created <= work.to),
          )
        }
        yield* replay.part(message.info, part)
      }
      yield* replay.afterParts(message.info)
    }
  }
  yield* replayAll(shown(session, await messagesOf(session.id)))
  yield* replay.end()
}

/**
 * The messages without the reverted ones. OpenCode no longer shows reverted messages, and deletes them with the next
 * prompt.
 */
function shown({ revert }: KeptSession, messages: readonly KeptMessage[]): readonly KeptMessage[] {
  const index = messages.findIndex(({ info }) => info.id === revert?.messageID)
  const first = messages[index]
  if (!revert || !first) return messages
  const kept = first.parts.findIndex(({ id }) => id === revert.partID)
  const partly = kept > 0 ? [{ info: first.info, parts: first.parts.slice(0, kept) }] : []
  return [...messages.slice(0, index), ...partly]
}

type Work = {
  readonly sessionID: string
  /** The call that started the work, in the running state. */
  readonly begun: Part
  /** The time range of this work. The session of a subagent may get work more than once. */
  readonly from: number
  readonly to: number
}

/** The work that this call gave to the session of a subagent. */
function workOf(part: Part): Work | undefined {
  if (part.type !== 'tool' || part.tool !== 'task' || part.state.status === 'pending') return undefined
  const { sessionId } = metadataOf(part)
  if (sessionId === undefined) return undefined
  const { input, time } = part.state
  const running = { status: 'running', input, metadata: { sessionId }, time: { start: time.start } } as const
  const to = 'end' in time ? time.end : Number.POSITIVE_INFINITY
  return { sessionID: sessionId, begun: { ...part, state: running }, from: time.start, to }
}

/** Converts stored messages to live events and translates them. */
class Replay {
  #state: TranslateState
  /** The time of the last output. It never decreases. */
  #at: number

  constructor({ id, directory, title, time }: KeptSession) {
    this.#state = initialState({ root: id, cwd: directory, title })
    this.#at = time.created
  }

  /** Begins a turn with a prompt. A message that contains nothing from the person belongs to the previous turn. */
  *prompt({ info }: KeptMessage, parts: readonly PromptPart[]): Generator<Remembered> {
    if (parts.length === 0) return
    yield* this.end()
    this.#pass(info.time.created)
    this.#state = withTurn(this.#state, this.#at)
    const own = parts.some((part) => part.type === 'text' && isAskAgain(part.text))
    yield { type: 'prompt', at: this.#at, parts, id: info.id, ...(own && { own }) }
  }

  *message(info: NativeMessage): Generator<Remembered> {
    this.#pass(info.time.created)
    const { sessionID } = info
    const stopped = info.role === 'assistant' && info.error?.name === 'MessageAbortedError'
    if (stopped && sessionID === this.#state.root) this.#state = withInterrupt(this.#state)
    yield* this.#give(
      translate(this.#state, { type: 'message.updated', properties: { sessionID, info: closed(info) } }),
    )
  }

  *part({ sessionID, time }: NativeMessage, part: Part): Generator<Remembered> {
    this.#pass(timeOf(part))
    yield* this.#give(translateStoredPart(this.#state, sessionID, written(part, time.created)))
    const todos = todosOf(part)
    if (todos)
      yield* this.#give(translate(this.#state, { type: 'todo.updated', properties: { sessionID, todos } }))
  }

  *afterParts(info: NativeMessage): Generator<Remembered> {
    if (info.role === 'assistant') this.#pass(info.time.completed)
    yield* this.#give(translateStoredCompaction(this.#state, info))
  }

  /** Ends the turn. An answer without an end was interrupted. */
  *end(): Generator<Remembered> {
    const { turn } = this.#state
    if (!turn) return
    if (turn.answer?.completed) return yield* this.#give(reconcileStatus(this.#state, { type: 'idle' }))
    const { usage, costUsd } = turn
    this.#state = withoutTurn(this.#state)
    const output = { outcome: 'cancelled', stopReason: 'interrupted', usage, costUsd } as const
    yield { type: 'output', at: this.#at, output: { type: 'turn.ended', ...output } }
  }

  *#give({ state, outputs }: Translation): Generator<Remembered> {
    this.#state = state
    for (const output of outputs) yield { type: 'output', at: this.#at, output }
  }

  #pass(time: number | undefined): void {
    this.#at = Math.max(this.#at, time ?? 0)
  }
}

/** Marks a failed message as completed. */
function closed(info: NativeMessage): NativeMessage {
  if (info.role !== 'assistant' || !info.error || info.time.completed !== undefined) return info
  return { ...info, time: { ...info.time, completed: info.time.created } }
}

/** Marks a text as ended: nothing will be added to it. */
function written(part: Part, at: number): Part {
  if (part.type !== 'text' && part.type !== 'reasoning') return part
  const { start = at, end = start } = part.time ?? {}
  return { ...part, time: { start, end } }
}

function timeOf(part: Part): number | undefined {
  if (part.type === 'text' || part.type === 'reasoning') return part.time?.end ?? part.time?.start
  if (part.type !== 'tool' || part.state.status === 'pending') return undefined
  return 'end' in part.state.time ? part.state.time.end : part.state.time.start
}

/** The plan that a call wrote; undefined for another call. OpenCode itself stores only the last plan. */
function todosOf(part: Part): readonly Todo[] | undefined {
  if (part.type !== 'tool' || part.tool !== 'todowrite' || part.state.status !== 'completed') return undefined
  const { todos } = (part satisfies ToolPart).state.input as { todos?: readonly Todo[] }
  return Array.isArray(todos) ? todos : undefined
}

/**
 * The prompt in a message; empty if the message has none. OpenCode also adds text of its own to messages of
 * the person.
 */
function promptOf({ info, parts }: KeptMessage, next: KeptMessage | undefined, cwd: string): PromptPart[] {
  if (info.role !== 'user') return []
  const said = parts.flatMap((part) => partsOf(part, cwd))
  return said.length > 0 ? said : shellLine(parts, next)
}

/**
 * The prompt for a shell command that a person typed after a `!` in OpenCode's own program. The command is read from
 * the answer, whose only part is the call that ran the command.
 */
function shellLine(parts: readonly Part[], next: KeptMessage | undefined): PromptPart[] {
  const [ran, ...more] = next?.parts ?? []
  const isAnswer = next?.info.role === 'assistant' && next.info.parentID === parts[0]?.messageID
  if (!isAnswer || ran?.type !== 'tool' || more.length > 0) return []
  const { command } = ran.state.input
  return typeof command === 'string' ? [{ type: 'text', text: `!${command}` }] : []
}

function partsOf(part: Part, cwd: string): PromptPart[] {
  switch (part.type) {
    case 'text':
      return part.synthetic || part.ignored || part.text === '' ? [] : [{ type: 'text', text: part.text }]
    case 'file':
      return [filePart(part, cwd)]
    case 'compaction':
      return part.auto ? [] : [{ type: 'command', name: 'compact' }]
    case 'subtask':
      return [subtask(part)]
    default:
      return []
  }
}

/**
 * The prompt that a person gave to a subagent: a command that starts a subagent, or a text for a subagent that is
 * addressed by name.
 */
function subtask(part: Extract<Part, { type: 'subtask' }>): PromptPart {
  if (part.command !== undefined) return { type: 'command', name: part.command, arguments: part.prompt }
  return { type: 'text', text: `@${part.agent} ${part.prompt}` }
}

const dataUrl = /^data:[^,]*;base64,([A-Za-z0-9+/]*=*)$/s

function filePart(part: Extract<Part, { type: 'file' }>, cwd: string): PromptPart {
  const { mime, url, filename } = part
  const data = dataUrl.exec(url)?.[1]
  const named = filename === undefined ? {} : { name: filename }
  if (data !== undefined && mime.startsWith('image/'))
    return { type: 'image', mimeType: mime, data, ...named }
  if (data !== undefined) return { type: 'file', name: filename ?? 'file', mimeType: mime, data }
  const path = pathIn(url, cwd)
  if (path === undefined) return { type: 'text', text: `[file: ${url.startsWith('data:') ? filename : url}]` }
  return { type: 'file', name: filename ?? path, mimeType: mime, path }
}

/** The path in a file URL, relative to the folder; undefined for another URL or a path outside the folder. */
function pathIn(url: string, cwd: string): string | undefined {
  if (!url.startsWith('file:')) return undefined
  try {
    const path = relative(cwd, fileURLToPath(url.replace(/[?#].*$/, '')))
    return path === '' || path.startsWith('..') || isAbsolute(path) ? undefined : path
  } catch {
    return undefined
  }
}
