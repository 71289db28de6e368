import type { Client } from '@parley/client'
import { messageOf } from '@parley/protocol'
import type { CommandLine } from '../../faces/http/command-line.ts'
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
  readonly commandLine: CommandLine
}

/** Used without a terminal: shows open requests and where they can be answered. */
export function createRequestNotices({
  client,
  sessionId,
  screen,
  style,
  commandLine,
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
    const where = `  answer it in the console, or in a terminal: ${commandLine(`attach ${sessionId}`)}`
    screen.say([...lines, style.dim(where)].join('\n'))
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
