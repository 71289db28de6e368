import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { NativePermission, NativeQuestionRequest } from './native.ts'
import { reconcile, reconcileStatus } from './translate-snapshot.ts'
import type { TranslateState, Translation } from './translate-state.ts'

const thrown = { throwOnError: true } as const

/**
 * Tells what was missed while the stream of events was broken, from what OpenCode has kept. Call it once the stream runs
 * again: what happens meanwhile comes with it, and nothing is told twice. The status is looked at first and told last.
 */
export async function catchUp(
  client: OpencodeClient,
  now: {
    state(): TranslateState
    give(translation: Translation): Promise<void>
    waiting(permissions: readonly NativePermission[], questions: readonly NativeQuestionRequest[]): void
  },
): Promise<void> {
  const { data: statuses } = await client.session.status({}, thrown)
  const seen = new Set<string>()
  for (;;) {
    const sessionID = Object.keys(now.state().sessions).find((id) => !seen.has(id))
    if (sessionID === undefined) break
    seen.add(sessionID)
    const [messages, todos] = await Promise.all([
      client.session.messages({ sessionID }, thrown),
      client.session.todo({ sessionID }, thrown),
    ])
    const kept = { sessionID, messages: messages.data, todos: todos.data }
    await now.give(reconcile(now.state(), kept))
  }
  const [permissions, questions] = await Promise.all([
    client.permission.list({}, thrown),
    client.question.list({}, thrown),
  ])
  const isOurs = ({ sessionID }: { sessionID: string }) => sessionID in now.state().sessions
  now.waiting(permissions.data.filter(isOurs), questions.data.filter(isOurs))
  await now.give(reconcileStatus(now.state(), statuses))
}
