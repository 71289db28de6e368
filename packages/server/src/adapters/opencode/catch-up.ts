import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { NativePermission, NativeQuestionRequest } from './native.ts'
import { reconcile, reconcileStatus } from './translate-snapshot.ts'
import type { TranslateState, Translation } from './translate-state.ts'

const thrown = { throwOnError: true } as const

export type Now = {
  state(): TranslateState
  give(translation: Translation): Promise<void>
  /** What waits for an answer. */
  waiting(permissions: readonly NativePermission[], questions: readonly NativeQuestionRequest[]): void
}

/**
 * Tells what was missed while the stream of events was broken, from what OpenCode has kept. Call it once the stream runs
 * again: what happens meanwhile comes with it, and nothing is told twice.
 * That OpenCode is idle is the end of a turn that had begun before, and then the messages are read once more, so that
 * they are all there are. `certain`: a turn that has not begun will not. If it has begun meanwhile, or another has, the
 * stream tells the rest.
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

/** Of the conversation, and of every subagent that turns up in it. */
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
 * From the newest back, a page at a time. OpenCode cannot show a prompt that asked for a result of a given shape: it
 * refuses every page that holds one. Then the messages are read one by one, as far as to that prompt.
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
