import type { FeedItem } from '@parley/client'
import { isKnown, type Me, ParleyError, pausedPrompts, promptText, type SessionState } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { type Connected, connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { exitCodes } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { findSession } from '../session-reference.ts'
import { type Answerer, TerminalPerson } from '../terminal/person.ts'
import { createRequestNotices } from '../terminal/request-notices.ts'
import { Screen } from '../terminal/screen.ts'
import { Transcript } from '../terminal/transcript.ts'
import { oneLine, visible } from '../terminal/visible.ts'
import { watchSession } from '../watch-session.ts'
import { mayDecide, whoCanDecide } from '../who-can-decide.ts'

export type AttachOptions = Flags & { readonly tail?: string }

/** Shows a session on the terminal until the person detaches. The session continues without them. */
export async function attach(reference: string, options: AttachOptions, context: Context): Promise<number> {
  const { output } = context
  const tail = tailOf(options.tail)
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const id = await findSession(client, reference, context)
  server.own(id)
  await server.useOtherNodes()
  const me = await client.access.me()
  const { blocks, firstSeq, trusted, ...state } = await client.call('getSession', {
    params: { id },
    query: { tail: 0 },
  })

  const leaving = new AbortController()
  using interrupts = onInterrupt(() => leaving.abort())
  output.readerLeft.addEventListener('abort', () => leaving.abort())
  const transcript = new Transcript({
    ...output,
    style: output.errStyle,
    prompts: true,
    asks: output.canAsk,
  })
  const typed: string[] = []
  const typing = {
    prompt: '> ',
    onLine: (line: string) => {
      if (line.trim() === '') return
      typed.push(line)
      client
        .prompt(id, line)
        .catch((thrown: Error) => screen.say(output.errStyle.red(visible(`parley: ${thrown.message}`))))
    },
    onEnd: () => leaving.abort(),
  }
  const screen = new Screen({
    stdin: context.stdin,
    stderr: process.stderr,
    output,
    onInterrupt: interrupts.interrupt,
    ...(output.canAsk && { typing }),
  })
  const answerer = answererOf({ me, server, sessionId: id, screen, context, onEnd: typing.onEnd })
  try {
    screen.say(output.errStyle.dim(headline(state, context)))
    if (server.embedded) screen.say(output.errStyle.yellow(temporaryText(context)))
    const last = await lastEvents(client, state, tail)
    screen.print(last.flatMap((event) => transcript.event(event)))
    for (const request of state.requests) answerer.requested(request.requestId)
    // Shows the input line, unless the person must first answer an open request here.
    if (state.requests.length === 0 || !(answerer instanceof TerminalPerson)) screen.invite()
    if (server.embedded && !output.canAsk && !state.turn) return exitCodes.completed
    await watchSession(
      {
        server,
        sessionId: id,
        from: { after: state.seq, epoch: state.epoch },
        show: showOn(screen, transcript, typed),
        answerer,
        signal: leaving.signal,
        say: (line) => screen.say(line),
        commandLine: context.commandLine,
      },
      () => false,
    )
    screen.close()
    if (output.isErrTerminal) output.err(`\n${output.errStyle.dim(leftText(id, server.embedded, context))}\n`)
    return exitCodes.completed
  } finally {
    screen.close()
  }
}

type Asked = {
  readonly me: Me
  readonly server: Connected
  readonly sessionId: string
  readonly screen: Screen
  readonly context: Context
  readonly onEnd: () => void
}

/** Asks the person at the terminal, or shows where requests can be answered if the person cannot answer here. */
function answererOf({ me, server, sessionId, screen, context, onEnd }: Asked): Answerer {
  const { canAsk, errStyle } = context.output
  const asking = { client: server.client, sessionId, screen, style: errStyle }
  if (!mayDecide(me)) {
    const where = whoCanDecide(me, { url: server.url, sessionId })
    return createRequestNotices({ ...asking, where })
  }
  if (canAsk) return new TerminalPerson({ ...asking, onEnd })
  const here = context.commandLine(`attach ${sessionId}`)
  return createRequestNotices({ ...asking, where: `answer it in the console, or in a terminal: ${here}` })
}

async function lastEvents(
  client: Awaited<ReturnType<typeof connect>>['client'],
  { id, seq, epoch }: SessionState,
  tail: number,
) {
  const limit = Math.min(tail, seq)
  if (limit === 0) return []
  const query = { before: seq + 1, limit, epoch }
  const { events } = await client.call('events', { params: { id }, query })
  return events
}

/**
 * Returns a function that shows feed items on the screen. It skips prompts that were typed here, because they
 * are on the screen already.
 */
function showOn(screen: Screen, transcript: Transcript, typed: string[]): (item: FeedItem) => void {
  return (item) => {
    if (item.type === 'delta') screen.print(transcript.delta(item.delta))
    if (item.type !== 'event') return
    const { event } = item
    const own =
      isKnown(event) && event.type === 'prompt.submitted' ? typed.indexOf(promptText(event.parts)) : -1
    if (own >= 0) typed.splice(own, 1)
    else screen.print(transcript.event(event))
  }
}

function headline(state: SessionState, context: Context): string {
  const { id, title, agent, status, cwd } = state
  const paused = pausedPrompts(state)
  const resume = paused > 0 ? ` · ${paused} paused, to run: ${context.commandLine(`resume ${id}`)}` : ''
  const facts = `${oneLine(title) || 'untitled'} · ${agent} · ${status} · ${oneLine(cwd)}${resume}`
  if (!context.output.canAsk) return facts
  const stop = context.commandLine(`cancel ${id}`)
  return `${facts}\na line you type is a prompt · Ctrl-C or Ctrl-D leaves · to stop the turn, run in another terminal: ${stop}`
}

function temporaryText({ commandLine }: Context): string {
  return `no server is running: the session stops when you leave. To keep it running, start a server: ${commandLine('serve')}`
}

function leftText(id: string, embedded: boolean, { commandLine }: Context): string {
  return embedded
    ? `left ${id}`
    : `left ${id}; it continues on the server. To return: ${commandLine(`attach ${id}`)}`
}

function tailOf(given: string | undefined): number {
  if (given === undefined) return 60
  if (/^\d{1,4}$/.test(given)) return Number(given)
  throw new ParleyError(
    'validation_error',
    `--tail takes the number of earlier events to show, not "${given}".`,
  )
}
