import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ChatCompletionRequest, FixtureOpts, FixtureResponse } from '@copilotkit/aimock'
import { installed, missing } from './peers.ts'

/**
 * A model on loopback that answers by script. It supports every protocol that our agents use, records every request
 * with its body, and can pause in the middle of an answer.
 */
export type ModelServer = {
  readonly url: string
  readonly calls: readonly ModelCall[]
  /**
   * The n-th call that `isMine` accepts gets the n-th answer; a retry counts as a call. The first script that matches
   * is used.
   */
  script(isMine: (request: ModelRequest) => boolean, steps: readonly ModelStep[]): void
  /** The next request gets `after` events and then a pause until the hold is released. */
  hold(after: number): Hold
  /** Changes every event before it is sent. A string is written unchanged; an empty string drops the event. */
  wire(change: (event: WireEvent, call: ModelCall) => WireEvent | string): void
  /** Removes all scripts and calls, and ends open answers. */
  forget(): void
  /** Ends the server at once, including open answers. */
  stop(): Promise<void>
}

export type ModelCall = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The request as the agent sent it, once it has been read. */
  body?: Readonly<Record<string, unknown>>
  status?: number
  complete?: boolean
}

export type ModelRequest = ChatCompletionRequest
/** An answer of the model: text, thinking, tool calls, blocks in any order, or an error. */
export type ModelAnswer = FixtureResponse
export type ModelStep = FixtureOpts & {
  readonly response: ModelAnswer | ((request: ModelRequest) => ModelAnswer | Promise<ModelAnswer>)
}
export type WireEvent = Readonly<Record<string, unknown>> & { readonly type?: string }
export type Hold = {
  /** Resolves when the answer has reached its pause. */
  readonly reached: Promise<void>
  release(): void
}

const tokenCountPath = /\/count_tokens|:countTokens/
const eventPattern = /^(?:event: .*\n)?data: (\{[\s\S]*\})\n\n$/

/** Needs the package @copilotkit/aimock. */
export async function startModelServer(): Promise<ModelServer> {
  const aimock = await installed(() => import('@copilotkit/aimock'))
  if (!aimock) throw missing('@copilotkit/aimock')
  const mock = new aimock.LLMock({ port: 0, host: '127.0.0.1', chunkSize: 8 })
  const calls: ModelCall[] = []
  const responses: ServerResponse[] = []
  let change: Parameters<ModelServer['wire']>[0] = (event) => event
  let nextHold: HoldOnAnswer | undefined

  mock.mount('', {
    async handleRequest(request, response) {
      const call: ModelCall = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
      }
      calls.push(call)
      responses.push(response)
      keepBody(request, call)
      response.on('close', () =>
        Object.assign(call, { status: response.statusCode, complete: response.writableFinished }),
      )
      if (tokenCountPath.test(call.path)) {
        response.setHeader('content-type', 'application/json')
        response.end('{"input_tokens":10,"totalTokens":10}')
        return true
      }
      if (call.method === 'POST') {
        tapEvents(response, (event) => change(event, call), nextHold)
        nextHold = undefined
      }
      return false
    },
  })
  await mock.start()

  return {
    url: mock.url,
    calls,
    script(isMine, steps) {
      let next = 0
      steps.forEach(({ response, ...options }, index) => {
        mock.on(
          { predicate: (request) => next === index && isMine(request) },
          (request) => {
            next++
            return typeof response === 'function' ? response(request) : response
          },
          options,
        )
      })
    },
    hold(after) {
      nextHold = new HoldOnAnswer(after)
      return nextHold
    },
    wire(next) {
      change = next
    },
    forget() {
      for (const response of responses.splice(0)) response.destroy()
      mock.clearFixtures()
      calls.length = 0
      nextHold = undefined
    },
    async stop() {
      for (const response of responses) response.destroy()
      await mock.stop()
    },
  }
}

/** Copies the body as it arrives. A second `data` listener would compete with the server's own reader. */
function keepBody(request: IncomingMessage, call: ModelCall): void {
  const chunks: Buffer[] = []
  const push = request.push
  request.push = function (this: IncomingMessage, chunk, encoding) {
    if (chunk) chunks.push(chunk)
    else call.body = parsed(Buffer.concat(chunks).toString())
    return push.call(this, chunk, encoding)
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Intercepts the output of the server: rewrites events, and delays them during a hold. */
function tapEvents(
  response: ServerResponse,
  change: (event: WireEvent) => WireEvent | string,
  hold: HoldOnAnswer | undefined,
): void {
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  response.write = (chunk: unknown, ...rest: unknown[]) => {
    const out = rewritten(String(chunk), change)
    if (hold?.keep(() => write(out))) return true
    return write(out, ...(rest as []))
  }
  response.end = (...rest: unknown[]) => {
    if (hold?.keepEnd(() => end(...(rest as [])))) return response
    return end(...(rest as []))
  }
}

function rewritten(text: string, change: (event: WireEvent) => WireEvent | string): string {
  const json = eventPattern.exec(text)?.[1]
  if (json === undefined) return text
  const event = change(JSON.parse(json))
  if (typeof event === 'string') return event
  const name = text.startsWith('event:') ? `event: ${event.type}\n` : ''
  return `${name}data: ${JSON.stringify(event)}\n\n`
}

class HoldOnAnswer implements Hold {
  readonly reached: Promise<void>
  #left: number
  #kept: (() => void)[] = []
  #reach: () => void = () => undefined

  constructor(after: number) {
    this.#left = after
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
  }

  release(): void {
    this.#left = Number.POSITIVE_INFINITY
    for (const send of this.#kept.splice(0)) send()
  }

  keep(send: () => void): boolean {
    if (this.#left-- > 0) return false
    this.#kept.push(send)
    this.#reach()
    return true
  }

  keepEnd(send: () => void): boolean {
    if (this.#kept.length === 0) return false
    this.#kept.push(send)
    return true
  }
}
