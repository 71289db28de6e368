import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { NativePermission, NativeQuestionRequest } from './native.ts'
import { reconcile, reconcileStatus } from './translate-snapshot.ts'
import type { TranslateState, Translation } from './translate-state.ts'

const thrown = { throwOnError: true } as const

export type Now = {
  state(): TranslateState
  give(translation: Translation): Promise<void>
  /** Takes the requests that wait for an answer. */
  waiting(permissions: readonly NativePermission[], questions: readonly NativeQuestionRequest[]): void
}

/**
 * Recovers what was missed while the event stream was broken, from what OpenCode has stored. Call it once the stream
 * runs again: later events come with the stream, and nothing is reported twice.
 * If OpenCode is idle, a turn that had started before is over. The messages are then read once more, so that none is
 * missing. `certain`: a turn that has not started will not start. If the turn has started meanwhile, or another one
 * has, the stream reports the rest.
 */
export async function catchUp(client: OpencodeClient, now: Now, certain = false): Promise<void> {
  const { turn: atFirst } = now.state()
  await tellMessages(client, now)
  const { data: statuses } = await client.session.status({}, thrown)
  const { root, turn } = now.state()
  const isOver = statuses[root] === undefined && (certain || turn?.begun || turn?.answer)
  if (isOver) await tellMessages(client, now)
  const [permissions, questions] = await Promise.all([
    client.permission.list({}, thrown),
    client.question.list({}, thrown),
  ])
  const after = now.state()
  if (after.turn?.at !== atFirst?.at || (certain && after.turn?.begun)) return
  const isOurs = ({ sessionID }: { sessionID: string }) => sessionID in after.sessions
  now.waiting(permissions.data.filter(isOurs), questions.data.filter(isOurs))
  const status = isOver ? ({ type: 'idle' } as const) : statuses[root]
  if (status) await now.give(reconcileStatus(after, status))
}

/** Reads the messages of the conversation and of every subagent that appears in it. */
async function tellMessages(client: OpencodeClient, now: Now): Promise<void> {
  const seen = new Set<string>()
  for (;;) {
    const sessionID = Object.keys(now.state().sessions).find((id) => !seen.has(id))
    if (sessionID === undefined) return
    seen.add(sessionID)
    const since = now.state().turn?.at ?? Number.POSITIVE_INFINITY
    const [messages, todos] = await Promise.all([
      messagesSince(client, sessionID, since),
      client.session.todo({ sessionID }, thrown),
    ])
    await now.give(reconcile(now.state(), { sessionID, messages, todos: todos.data }))
  }
}

const pageSize = 20
type Messages = NonNullable<Awaited<ReturnType<OpencodeClient['session']['messages']>>['data']>

/**
 * Reads from the newest message back, page by page. OpenCode cannot return a prompt with an output schema: it refuses
 * every page that contains one. The messages are then read one by one, up to that prompt.
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
