import { ParleyError } from '@parley/protocol'
import type {
  AgentAdapter,
  AgentConnection,
  AgentMessage,
  AgentOutput,
  ConnectInput,
  PermissionAsk,
  Person,
  QuestionAsk,
} from '../agent-adapter.ts'
import { Broken, shown } from './expect.ts'
import type { RuleName } from './rules.ts'

const shownLines = 40
const shownText = 80

/** The functions of an adapter and of a connection that are watched, each with the rule that it breaks if it hangs. */
const watchedMethods = {
  probe: 'probe',
  models: 'probe',
  connect: 'connect',
  prepare: 'connect',
  send: 'failures-are-outputs',
  interrupt: 'cancel',
  configure: 'failures-are-outputs',
  takeBack: 'steer',
  stopTask: 'background',
  outsideMessages: 'rejoin',
  park: 'close',
  close: 'close',
} as const satisfies Readonly<Record<string, RuleName>>

type Line = { readonly text: string; times: number }
type Wait = { readonly what: string; readonly rule: RuleName | undefined }
type Call = () => Promise<unknown>

/** Watches everything that passes between a host and an adapter, and checks the rules that do not show in a log. */
export class Witness {
  /** The violations of rules by the adapter, in order. */
  readonly broken: Broken[] = []
  /** The calls that the adapters have ended themselves. The host ends the calls that they leave open. */
  readonly endedCalls = new Set<string>()
  #lines: Line[] = []
  readonly #waits = new Set<Wait>()
  readonly #calls = new Set<{ readonly name: string; readonly rule: RuleName }>()
  /** The calls that are recorded, by session. Another connection may ask about a call of an earlier one. */
  readonly #recorded = new Map<string, Set<string>>()

  /** The adapter, watched. */
  watch(adapter: AgentAdapter): AgentAdapter {
    const connect = adapter.connect.bind(adapter)
    const prepare = adapter.prepare?.bind(adapter)
    return this.#watched(adapter, {
      connect: (input) => this.#connected(connect, input),
      ...(prepare && {
        prepare: async (input) => {
          const agent = await prepare(input)
          const use = agent.connect.bind(agent)
          return this.#watched(agent, { connect: (given) => this.#connected(use, given) })
        },
      }),
    })
  }

  /** Forgets what earlier cases did. */
  begin(): void {
    this.#lines = []
    this.#waits.clear()
    this.#calls.clear()
  }

  /** Runs work of a case. If the time limit of the case is reached before the work settles, the failure names `what`. */
  async waiting<Result>(what: string, rule: RuleName | undefined, work: Promise<Result>): Promise<Result> {
    const wait = { what, rule }
    this.#waits.add(wait)
    try {
      return await work
    } finally {
      this.#waits.delete(wait)
    }
  }

  /** What a case waits for now, and the functions of the adapter that have not returned. */
  get waitedFor(): Wait {
    const wait = [...this.#waits].at(-1)
    const calls = [...this.#calls]
    const open = calls.map(({ name }) => `${name}() has not returned`)
    const what = [...(wait ? [wait.what] : []), ...open].join('; ')
    // A program that is started ahead of its session does not block a case.
    const blocking = calls.find(({ name }) => name !== 'prepare')
    return { what: what || 'the case to end', rule: blocking?.rule ?? wait?.rule }
  }

  /** The last things that the adapter and the host did, one per line. */
  describe(): string {
    const lines = this.#lines.slice(-shownLines)
    const left = this.#lines.length - lines.length
    const text = lines.map(({ text, times }) => (times > 1 ? `  ${text} ×${times}` : `  ${text}`))
    return [...(left > 0 ? [`  … (${left} earlier lines)`] : []), ...text].join('\n')
  }

  async #connected(
    connect: (input: ConnectInput) => Promise<AgentConnection>,
    input: ConnectInput,
  ): Promise<AgentConnection> {
    let connection: AgentConnection
    try {
      connection = await connect({ ...input, person: this.#person(input) })
    } catch (error) {
      if (!(error instanceof ParleyError))
        this.#breaks('connect', `\`connect\` rejected with ${shown(error)}`)
      throw error
    }
    const turn = { open: false }
    return this.#watched(connection, {
      events: this.#outputs(connection.events, input.sessionId, turn),
      send: (message) => {
        if (message.type === 'continue' || message.prompt.delivery !== 'steer') turn.open = true
        return connection.send(message)
      },
    })
  }

  /** An object with these members instead of its own. Its functions keep their `this`. */
  #watched<Watched extends object>(object: Watched, changes: Partial<Watched>): Watched {
    return new Proxy(
      { ...object },
      {
        get: (_, key) => {
          const value = Reflect.get(key in changes ? changes : object, key) as unknown
          if (typeof value !== 'function') return value
          const rule = Object.entries(watchedMethods).find(([name]) => name === key)?.[1]
          const call = (...given: unknown[]) => Reflect.apply(value, object, given)
          return rule === undefined
            ? call
            : (...given: unknown[]) => this.#called(String(key), rule, given, async () => call(...given))
        },
      },
    )
  }

  async #called(name: string, rule: RuleName, [given]: readonly unknown[], call: Call): Promise<unknown> {
    this.#note(name === 'send' ? `send(${messageText(given as AgentMessage)})` : `${name}()`)
    const open = { name, rule }
    this.#calls.add(open)
    try {
      return await call()
    } catch (error) {
      this.#note(`${name}() rejected: ${error instanceof Error ? error.message : String(error)}`)
      const refuses = name === 'connect' || name === 'prepare' || name === 'models'
      if (!refuses) {
        const broken = name === 'probe' ? 'probe' : 'failures-are-outputs'
        this.#breaks(broken, `\`${name}\` rejected with ${shown(error)}`)
      }
      throw error
    } finally {
      this.#calls.delete(open)
    }
  }

  #outputs(events: AsyncIterable<AgentOutput>, sessionId: string, turn: { open: boolean }) {
    const recorded = this.#recorded.get(sessionId) ?? new Set()
    this.#recorded.set(sessionId, recorded)
    const take = (output: AgentOutput) => this.#take(output, turn)
    let last: AgentOutput | undefined
    let isOver = false
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = events[Symbol.asyncIterator]()
        return {
          next: async () => {
            if (last?.type === 'tool-call.called') recorded.add(last.toolCallId)
            const next = await iterator.next().catch((error) => {
              this.#breaks('failures-are-outputs', `\`events\` rejected with ${shown(error)}`)
              throw error
            })
            last = next.done ? undefined : (next.value as AgentOutput)
            if (last) {
              if (isOver) this.#breaks('nothing-after-the-end', `${last.type} came after agent.disconnected`)
              isOver ||= last.type === 'agent.disconnected'
              take(last)
            } else this.#note('  (the end of events)')
            return next
          },
          return: async () => (await iterator.return?.()) ?? { done: true as const, value: undefined },
        }
      },
    }
  }

  #take(output: AgentOutput, turn: { open: boolean }): void {
    this.#note(`  ${outputText(output)}`)
    if (output.type === 'tool-call.ended') this.endedCalls.add(output.toolCallId)
    if (output.type === 'turn.started') turn.open = true
    if (output.type !== 'turn.ended') return
    if (!turn.open) this.#breaks('one-end-of-a-turn', 'a `turn.ended` came although no turn was open')
    turn.open = false
  }

  #person({ person, sessionId }: ConnectInput): Person {
    const asks = (name: string, { toolCallId }: PermissionAsk | QuestionAsk) => {
      this.#note(`  person.${name}(${toolCallId ?? ''})`)
      if (toolCallId === undefined || this.#recorded.get(sessionId)?.has(toolCallId)) return
      this.#breaks(
        'requests',
        `\`${name}\` was called for ${toolCallId} before its tool-call.called was recorded`,
      )
    }
    return {
      forbids: (ask) => person.forbids(ask),
      permit: (ask, signal) => {
        asks('permit', ask)
        return person.permit(ask, signal)
      },
      answer: (ask, signal) => {
        asks('answer', ask)
        return person.answer(ask, signal)
      },
    }
  }

  #breaks(rule: RuleName, found: string): void {
    this.broken.push(new Broken(found, rule))
  }

  #note(text: string): void {
    const last = this.#lines.at(-1)
    if (last?.text === text) last.times++
    else this.#lines.push({ text, times: 1 })
  }
}

function messageText({ type, prompt: { parts, delivery } }: AgentMessage): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ')
  return `${type}${delivery === 'steer' ? ', steer' : ''}: ${quoted(text)}`
}

function outputText(output: AgentOutput): string {
  switch (output.type) {
    case 'text.written':
    case 'thinking.written':
      return `${output.type} ${quoted(output.text)}`
    case 'tool-call.called':
      return `${output.type} ${output.name} (${output.toolCallId})`
    case 'tool-call.ended':
      return `${output.type} ${output.outcome} (${output.toolCallId})`
    case 'turn.ended':
      return `${output.type} ${output.outcome}${output.error ? ` ${quoted(output.error.message)}` : ''}`
    case 'agent.disconnected':
      return `${output.type} ${output.reason}`
    case 'agent.unrecognised':
      return `${output.type} ${quoted(output.reason ?? '')}`
    default:
      return output.type
  }
}

function quoted(text: string): string {
  return JSON.stringify(text.length > shownText ? `${text.slice(0, shownText)} …` : text)
}
