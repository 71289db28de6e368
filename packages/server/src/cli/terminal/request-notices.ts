import type { Client } from '@parley/client'
import { messageOf } from '@parley/protocol'
import type { Answerer } from './person.ts'
import { permissionLines, questionLines } from './request-lines.ts'
import type { Screen } from './screen.ts'
import type { Style } from './style.ts'
import { visible } from './visible.ts'

export type RequestNoticesOptions = {
  readonly client: Client
  readonly sessionId: string
  readonly screen: Screen
  readonly style: Style
  /** The text that says where the requests can be answered. */
  readonly where: string
}

/** Used if nobody can answer here: shows open requests and where they can be answered. */
export function createRequestNotices({
  client,
  sessionId,
  screen,
  style,
  where,
}: RequestNoticesOptions): Answerer {
  async function show(requestId: string): Promise<void> {
    const query = { tail: 0 }
    const { cwd, requests } = await client.call('getSession', { params: { id: sessionId }, query })
    const request = requests.find((open) => open.requestId === requestId)
    if (!request) return
    const lines =
      request.type === 'permission'
        ? permissionLines(request, cwd, style)
        : request.questions.flatMap((question) => questionLines(question, style))
    screen.say([...lines, style.dim(`  ${where}`)].join('\n'))
  }

  return {
    requested(requestId) {
      show(requestId).catch((thrown: unknown) =>
        screen.say(style.red(visible(`parley: ${messageOf(thrown)}`))),
      )
    },
    resolved: () => undefined,
    reconnected: () => undefined,
  }
}
