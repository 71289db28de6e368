import type { OpencodeClient, PermissionRequest, QuestionRequest } from '@opencode-ai/sdk/v2/client'
import { thrown } from './native.ts'
import { reconcile, reconcileStatus } from './translate-snapshot.ts'
import type { TranslateState, Translation } from './translate-state.ts'
import { failToBegin } from './translate-turn.ts'

/** The time after an error or a gap within which OpenCode may still start a prompt. */
const startMs = 1_000
/** The number of attempts to recover missed events, and the interval between them. */
const maxAttempts = 25
const retryMs = 200

export type WatchContext = {
  readonly client: OpencodeClient
  state(): TranslateState
  give(translation: Translation): Promise<void>
  /** Called after events were missed, with the requests that wait for an answer now. */
  reconcileRequests(permissions: readonly PermissionRequest[], questions: readonly QuestionRequest[]): void
  isOver(): boolean
  /** Reports that OpenCode has failed to do `what`. */
  problem(what: string, error: unknown): void
}

/**
 * Watches a turn in addition to the event stream, to detect missed events and a prompt that is never started. Each wait
 * belongs to one turn, and has no effect once another turn has begun or the connection is over.
 */
export class TurnWatch {
  readonly #context: WatchContext
  readonly #timers = new Set<NodeJS.Timeout>()
  #round = 0
  /** The last turn for which `expectStart` was called. */
  #expected: number | undefined

  constructor(context: WatchContext) {
    this.#context = context
  }

  get round(): number {
    return this.#round
  }

  /**
   * Called when another turn begins or the connection is over: cancels all waits of the last turn, and returns the
   * number of the new turn.
   */
  begin(): number {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#round++
    return this.#round
  }

  /**
   * Checks after a moment that the prompt was started. OpenCode may have dropped it without a message: a prompt that
   * is not started soon is never started.
   */
  expectStart(): void {
    const { turn } = this.#context.state()
    if (!turn || turn.begun || this.#expected === this.#round) return
    this.#expected = this.#round
    this.#later(() => {
      if (!this.#context.state().turn?.begun) void this.catchUp(true)
    })
  }

  /** Called for an error before the turn has started: if the turn does not start, the error is the reason. */
  expectStartAfterError(): void {
    const { state, give } = this.#context
    const { turn } = state()
    if (!turn?.error || turn.begun) return
    this.#later(() => void give(failToBegin(state())))
  }

  /** Recovers missed events. `certain`: an open turn that has not started yet will not start. */
  async catchUp(certain = false): Promise<void> {
    const { isOver, problem } = this.#context
    const round = this.#round
    for (let count = 1; !isOver(); count++) {
      if (certain && round !== this.#round) return
      try {
        return await catchUp(this.#context, certain)
      } catch (error) {
        if (count === maxAttempts) return problem('report missed events', error)
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  #later(act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (!this.#context.isOver() && this.#context.state().turn) act()
    }, startMs)
    this.#timers.add(timer.unref())
  }
}

/**
 * Recovers the events that were missed while the event stream was broken, from the data that OpenCode has stored. It
 * must be called when the stream runs again: the stream delivers later events, and nothing is reported twice. If
 * OpenCode is idle, a turn that had started before is over. The messages are then read once more, so that none is
 * missing. `certain`: a turn that has not started will not start. If this or another turn has started meanwhile, the
 * stream reports the rest.
 */
async function catchUp(context: WatchContext, certain: boolean): Promise<void> {
  const { client, state, give, reconcileRequests } = context
  const { turn: atFirst } = state()
  await readMessages(context)
  const { data: statuses } = await client.session.status({}, thrown)
  const { root, turn } = state()
  const isOver = statuses[root] === undefined && (certain || turn?.begun || turn?.answer)
  if (isOver) await readMessages(context)
  const [permissions, questions] = await Promise.all([
    client.permission.list({}, thrown),
    client.question.list({}, thrown),
  ])
  const after = state()
  if (after.turn?.at !== atFirst?.at || (certain && after.turn?.begun)) return
  const isOurs = ({ sessionID }: { sessionID: string }) => sessionID in after.sessions
  reconcileRequests(permissions.data.filter(isOurs), questions.data.filter(isOurs))
  const status = isOver ? ({ type: 'idle' } as const) : statuses[root]
  if (status) await give(reconcileStatus(after, status))
}

/** Reads the messages of the conversation and of every subagent that appears in it. */
async function readMessages({ client, state, give }: WatchContext): Promise<void> {
  const seen = new Set<string>()
  for (;;) {
    const sessionID = Object.keys(state().sessions).find((id) => !seen.has(id))
    if (sessionID === undefined) return
    seen.add(sessionID)
    const since = state().turn?.at ?? Number.POSITIVE_INFINITY
    const [messages, todos] = await Promise.all([
      messagesSince(client, sessionID, since),
      client.session.todo({ sessionID }, thrown),
    ])
    await give(reconcile(state(), { sessionID, messages, todos: todos.data }))
  }
}

const pageSize = 20
type Messages = NonNullable<Awaited<ReturnType<OpencodeClient['session']['messages']>>['data']>

/**
 * Reads from the newest message back, page by page. OpenCode cannot return a prompt with an output schema, and refuses
 * every page that contains such a prompt. The messages are then read one by one, up to that prompt.
 */
async function messagesSince(client: OpencodeClient, sessionID: string, since: number): Promise<Messages> {
  const found: Messages = []
  let limit = pageSize
  let before: string | undefined
  for (;;) {
    const page = { sessionID, limit, ...(before !== undefined && { before }) }
    const { data, error, response } = await client.session.messages(page)
    if (!data && response?.status === 400 && limit > 1) limit = 1
    else if (!data && response?.status === 400) return found
    else if (!data) throw error
    else {
      found.unshift(...data)
      before = response.headers.get('x-next-cursor') ?? undefined
      if (before === undefined || (data[0]?.info.time.created ?? 0) < since) return found
    }
  }
}
