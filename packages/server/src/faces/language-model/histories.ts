import {
  defined,
  hasCode,
  type McpServers,
  ParleyError,
  type PermissionMode,
  type SessionOptions,
  type SessionState,
} from '@parley/protocol'
import { type Host, hashOf } from '../../core/index.ts'
import { SessionFacts } from '../../transcripts/session-facts.ts'
import { type CallSettings, callSettings, inWords } from './call-settings.ts'
import { type HandOver, hostResultOf, hostToolsOf } from './caller-tools.ts'
import { fingerprintOf, statementsIn, statementsInReply } from './fingerprint.ts'
import { instructions, promptParts, replayParts } from './first-prompt.ts'
import { type KnownSession, KnownSessions } from './known-sessions.ts'
import { abortError } from './model-error.ts'
import { ModelTurn } from './model-turn.ts'
import { type Given, readPrompt } from './read-prompt.ts'
import type { Reply } from './reply.ts'
import type { RequestHandlers } from './requests.ts'
import type { CallOptions, Message, Warning } from './specification.ts'

/** The settings of new sessions of a model, and the functions that answer their requests. */
export type SessionDefaults = RequestHandlers & {
  readonly cwd: string
  readonly mode?: PermissionMode
  readonly model?: string
  readonly options?: SessionOptions
  readonly mcpServers?: McpServers
  /**
   * The person whom the histories belong to. A program that serves several people must set it, here or in each call.
   */
  readonly person?: string
}

export type ModelLimits = {
  /**
   * The maximum number of sessions that are remembered by their history. The least recently used session is dropped
   * first.
   */
  readonly sessions: number
  /**
   * The maximum number of turns that wait for callers to run tools. The turn that has waited longest is cancelled
   * first.
   */
  readonly waiting: number
  /** The time that a turn waits for the result of a caller's tool. */
  readonly waitMs: number
  /** The time that a response that ends with a tool call waits for further parallel calls. */
  readonly gatherMs: number
}

/**
 * A response that has started. `replied` must be called with the whole reply before the caller gets the end.
 */
export type Begun = {
  readonly turn: ModelTurn
  readonly warnings: Warning[]
  replied(reply: Reply): void
}

type Wanted = {
  readonly call: CallOptions
  readonly agent: string
  readonly defaults: SessionDefaults
  readonly settings: CallSettings
  readonly given: Given
  readonly person: string | undefined
  /** A hash of all values, except the history, that distinguish one session from another. */
  readonly about: string
}
type Waiting = {
  readonly turn: ModelTurn
  readonly history: string
  readonly person: string | undefined
  readonly known: Known
  readonly stop: () => void
}
type Start = {
  readonly wanted: Wanted
  readonly known: Known
  readonly isNew: boolean
  readonly isReplay: boolean
  readonly words: string | undefined
}
type Known = Pick<KnownSession, 'sessionId' | 'refused'>

/** Finds or creates the session for a history, and holds the turns that wait for their callers. */
export class Histories {
  readonly #host: Host
  readonly #limits: ModelLimits
  readonly #known: KnownSessions
  /**
   * Turns that are open or about to start, by session. Promises, because the agent may call a tool before `#start`
   * returns.
   */
  readonly #turns = new Map<string, Promise<ModelTurn>>()
  /** The turns that wait for their callers, by session id, the longest waiting turn first. */
  readonly #waiting = new Map<string, Waiting>()

  constructor(host: Host, limits: ModelLimits) {
    this.#host = host
    this.#limits = limits
    this.#known = new KnownSessions(limits.sessions, (sessionId) => host.releaseTools(sessionId))
  }

  async begin(agent: string, defaults: SessionDefaults, call: CallOptions): Promise<Begun> {
    if (call.abortSignal?.aborted) throw abortError(call.abortSignal)
    const given = readPrompt(call.prompt)
    const settings = callSettings(call)
    const { cwd, mode, model, options, mcpServers } = defaults
    const { system } = given
    const person = personOf(defaults, call)
    const about = hashOf([agent, cwd, mode, model, options, mcpServers, settings.wanted, system, person])
    const wanted = { call, agent, defaults, settings, given, person, about }
    return (await this.#continue(wanted)) ?? this.#prompt(wanted)
  }

  /** Resumes a waiting turn, if the caller sends results and an unchanged history. A message may follow the results. */
  async #continue(wanted: Wanted): Promise<Begun | undefined> {
    const { given, settings, about } = wanted
    const mentioned = new Set(callsIn(wanted.call.prompt))
    const waiting = [...this.#waiting.values()].find(
      ({ turn, person }) => person === wanted.person && turn.open.some((id) => mentioned.has(id)),
    )
    if (!waiting) return undefined
    const { turn, known } = waiting
    this.#stopWaiting(turn.sessionId)
    const { before, results } = resultsAtEnd(given)
    const isSame = waiting.history === fingerprintOf(about, statementsIn(before, new Set(turn.open)))
    if (!isSame || !(await this.#steered(turn, given))) {
      turn.cancel()
      return undefined
    }
    turn.answer(new Map(results.map(({ toolCallId, output }) => [toolCallId, hostResultOf(output)])))
    const replied = (reply: Reply) => this.#replied({ turn, known, wanted }, reply)
    return { turn, warnings: [...settings.warnings], replied }
  }

  /**
   * If a message follows the results, sends it as a steered prompt to the waiting turn. Returns false if that is
   * refused.
   */
  async #steered({ sessionId }: ModelTurn, { asked }: Given): Promise<boolean> {
    if (asked.type === 'results') return true
    const parts = promptParts(asked.messages)
    const steer = { type: 'prompt.submit', commandId: crypto.randomUUID(), delivery: 'steer', parts } as const
    try {
      await this.#host.command(sessionId, steer)
      return true
    } catch (error) {
      if (error instanceof ParleyError) return false
      throw error
    }
  }

  async #prompt(wanted: Wanted): Promise<Begun> {
    const { settings, given } = wanted
    const before = await this.#knownSession(wanted)
    const known = before ?? (await this.#create(wanted))
    const { sessionId } = known
    const { words, warnings } = inWords(settings, known.refused)
    const isReplay = !before && (given.history.length > 0 || given.asked.type === 'results')
    const starting = this.#start({ wanted, known, isNew: !before, isReplay, words })
    this.#turns.set(sessionId, starting)
    const turn = await starting.catch(async (error) => {
      this.#turns.delete(sessionId)
      if (before) this.#host.releaseTools(sessionId)
      else await this.#host.delete(sessionId)
      throw error
    })
    const replied = (reply: Reply) => this.#replied({ turn, known, wanted }, reply)
    return { turn, warnings: [...settings.warnings, ...warnings, ...(isReplay ? [replayed] : [])], replied }
  }

  async #start(start: Start): Promise<ModelTurn> {
    const { wanted, known, isNew, isReplay, words } = start
    const { call, settings, defaults, given } = wanted
    const { sessionId, refused } = known
    if (!isNew) await this.#host.offerTools(sessionId, this.#toolsFor(wanted, sessionId))
    const prompt = isReplay ? replayParts(given, words) : promptParts(messagesOf(given), words)
    const inPrompt = isNew && given.system !== '' && refused.includes('appendSystemPrompt')
    const parts = inPrompt ? [instructions(given.system), ...prompt] : prompt
    if (call.abortSignal?.aborted) throw abortError(call.abortSignal)
    const command = { type: 'prompt.submit', commandId: crypto.randomUUID(), parts } as const
    const { promptId = '', seq } = await this.#host.command(sessionId, command)
    const { waitMs, gatherMs } = this.#limits
    const turn: ModelTurn = new ModelTurn({
      host: this.#host,
      facts: new SessionFacts(sessionId, await this.#host.state(sessionId)),
      promptId,
      seq,
      tools: new Set(settings.tools.map(({ name }) => name)),
      handlers: defaults,
      structured: settings.wanted.outputSchema !== undefined && !refused.includes('outputSchema'),
      native: call.includeRawChunks === true,
      about: isReplay ? { replayed: true } : {},
      waitMs,
      gatherMs,
      over: () => this.#ended(turn),
    })
    return turn
  }

  /** The session of this history, if the caller's history is complete. */
  async #knownSession({ given, about }: Wanted): Promise<KnownSession | undefined> {
    const { history, asked } = given
    if (asked.type !== 'prompt' || history.length === 0) return undefined
    const known = this.#known.take(fingerprintOf(about, statementsIn(history)))
    if (!known) return undefined
    const state = await this.#host.state(known.sessionId).catch(notFound)
    const isThere = state && !state.archived && !state.turn && state.queue.length === 0
    if (isThere && state.lastTurn?.turnId === known.turnId) return known
    this.#host.releaseTools(known.sessionId)
    return undefined
  }

  /** Creates the session. A setting that the agent refuses is left out and added to the prompt instead. */
  async #create(wanted: Wanted): Promise<Known> {
    const { agent, defaults, settings, given } = wanted
    const { cwd, mode, model, options = {}, mcpServers } = defaults
    const { system } = given
    const refused: string[] = []
    for (;;) {
      const appendSystemPrompt = [options.appendSystemPrompt, system].filter(Boolean).join('\n\n')
      const own: SessionOptions = {
        ...options,
        ...settings.wanted,
        ...(appendSystemPrompt !== '' && { appendSystemPrompt }),
      }
      for (const option of refused) delete own[option as keyof SessionOptions]
      let sessionId: string | undefined
      try {
        const given = Object.keys(own).length > 0 ? own : undefined
        const input = defined({ agent, cwd, mode, model, options: given, mcpServers })
        const tools = this.#toolsFor(wanted, () => sessionId)
        sessionId = (await this.#host.create(input, { tools })).id
        return { sessionId, refused }
      } catch (error) {
        const option = refusedOption(error)
        if (option === undefined || !(option in own) || option in options) throw error
        refused.push(option)
      }
    }
  }

  #toolsFor({ settings }: Wanted, sessionId: string | (() => string | undefined)) {
    const handOver: HandOver = async (name, input, context) => {
      const id = typeof sessionId === 'string' ? sessionId : sessionId()
      const turn = id === undefined ? undefined : await this.#turns.get(id)
      if (turn) return turn.handOver(name, input, context)
      const text = 'The program that provides this tool is not waiting for a call.'
      return { content: [{ type: 'text', text }], isError: true }
    }
    return hostToolsOf(settings.tools, handOver)
  }

  /**
   * Stores the fingerprint of the history that the caller has after this reply. If a caller drops the calls
   * of a turn and keeps its text, that history does not match: the same text may come from calls with other
   * results.
   */
  #replied({ turn, known, wanted }: { turn: ModelTurn; known: Known; wanted: Wanted }, reply: Reply): void {
    const { about, call, person } = wanted
    const open = new Set(turn.open)
    const held = [...statementsIn(withoutSystem(call.prompt)), ...statementsInReply(reply.content, open)]
    const history = fingerprintOf(about, held)
    if (open.size > 0) return this.#wait({ turn, history, person, known }, call.abortSignal)
    const { turnId } = turn
    if (turn.isComplete && turnId !== undefined) this.#known.remember({ ...known, turnId }, history)
  }

  /**
   * Holds the turn until the caller sends results. Cancels it if the caller aborts. Cancels the oldest turn if too
   * many wait.
   */
  #wait(waiting: Omit<Waiting, 'stop'>, signal: AbortSignal | undefined): void {
    const { turn } = waiting
    const abort = () => turn.cancel()
    const stop = () => signal?.removeEventListener('abort', abort)
    signal?.addEventListener('abort', abort, { once: true })
    this.#waiting.set(turn.sessionId, { ...waiting, stop })
    if (signal?.aborted) turn.cancel()
    const [oldest] = this.#waiting.values()
    if (this.#waiting.size <= this.#limits.waiting || !oldest) return
    this.#stopWaiting(oldest.turn.sessionId)
    oldest.turn.cancel()
  }

  /**
   * Removes a turn that has ended. If it is not complete, its history cannot be continued, so the tools of its session
   * are released.
   */
  #ended({ sessionId, isComplete }: ModelTurn): void {
    this.#turns.delete(sessionId)
    this.#stopWaiting(sessionId)
    if (!isComplete) this.#host.releaseTools(sessionId)
  }

  #stopWaiting(sessionId: string): void {
    this.#waiting.get(sessionId)?.stop()
    this.#waiting.delete(sessionId)
  }
}

const replayed: Warning = {
  type: 'other',
  message:
    'No known session has this history: a new session was created, and its first prompt contains the history.',
}

/**
 * The person whom the history belongs to, from the call or else from the defaults. Throws if the value is invalid:
 * ignoring it would give people access to each other's sessions.
 */
function personOf(defaults: SessionDefaults, { providerOptions }: CallOptions): string | undefined {
  const ofCall = providerOptions?.parley ?? {}
  const person = 'person' in ofCall ? ofCall.person : defaults.person
  if (typeof person === 'string' && person !== '') return person
  if (person === undefined && !('person' in ofCall)) return undefined
  throw new ParleyError('validation_error', 'person must be a non-empty string, such as an id.')
}

function messagesOf({ asked }: Given) {
  return asked.type === 'prompt' ? asked.messages : []
}

/** The caller's results of its last calls, and the history before them. */
function resultsAtEnd({ history, asked }: Given) {
  if (asked.type === 'results') return { before: history, results: asked.results }
  const end = history.findLastIndex(({ role }) => role !== 'tool') + 1
  const results = history.slice(end).flatMap((message) => (message.role === 'tool' ? message.content : []))
  return { before: history.slice(0, end), results: results.filter((part) => part.type === 'tool-result') }
}

function withoutSystem(prompt: readonly Message[]): Message[] {
  return prompt.slice(prompt.findIndex(({ role }) => role !== 'system'))
}

function callsIn(prompt: readonly Message[]): string[] {
  return prompt.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : []))
      : [],
  )
}

function refusedOption(error: unknown): string | undefined {
  if (!hasCode(error, 'not_supported')) return undefined
  const option = error.details?.option
  return typeof option === 'string' ? option : undefined
}

function notFound(error: unknown): SessionState | undefined {
  if (hasCode(error, 'not_found')) return undefined
  throw error
}
