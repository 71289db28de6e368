import { AgentProcess } from '@parley/adapter-kit/child-process'
import { replaceDiff, writeDiff } from '@parley/adapter-kit/file-diff'
import { reachOf } from '@parley/adapter-kit/inside-folder'
import { readJsonLines } from '@parley/adapter-kit/json-lines'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import { ParleyError, promptText } from '@parley/protocol'

/** @import { AgentConnection, AgentMessage, ConnectInput } from '@parley/adapter-kit' */
/** @import { ProgramStart } from '@parley/adapter-kit/child-process' */

/**
 * The messages of the agent.
 * @typedef {{ type: 'ready', session: string, version: string }
 *   | { type: 'piece' | 'text', block: string, text: string }
 *   | Call
 *   | { type: 'ask', call: string }
 *   | { type: 'result', call: string, outcome: 'completed' | 'denied' | 'cancelled' }
 *   | { type: 'end', stopped: boolean }} Message
 * @typedef {{ type: 'call', call: string, tool: string, input: { path: string, text: string, old?: string } }} Call
 */

/** The time that the agent has to end after a request to end. */
const closeMs = 2_000

/** The process of the agent, for one session. @implements {AgentConnection} */
export class Connection {
  #session
  #program = new AgentProcess()
  #queue = createOutputQueue(() => this.kill())
  #child
  #reader
  #ready = Promise.withResolvers()
  /** The calls that have not ended. @type {Map<string, Call>} */
  #calls = new Map()
  #isClosing = false
  #work = Promise.resolve()
  #unfinished = 0

  /**
   * @param {ConnectInput} session
   * @param {ProgramStart} start
   */
  constructor(session, start) {
    this.#session = session
    this.#child = this.#program.spawn(start)
    this.#child.stdin.on('error', () => undefined)
    this.#reader = readJsonLines(this.#child.stdout, {
      message: (message) => {
        this.#ready.resolve(undefined)
        this.#next(() => this.#translate(/** @type {Message} */ (message)))
      },
      garbage: (line) => this.#next(() => this.#unknown(line)),
      end: () => this.#next(() => this.#ended()),
    })
    this.#endWith(session.signal)
  }

  /**
   * Ends the program if the host cancels the start. Afterwards, the signal has no effect.
   * @param {AbortSignal} signal
   */
  #endWith(signal) {
    const abort = () => this.kill()
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    const forget = () => signal.removeEventListener('abort', abort)
    this.ready.then(forget, forget)
  }

  /** Resolves when the agent has started, and rejects if it cannot be started. */
  get ready() {
    return this.#ready.promise
  }

  get events() {
    return this.#queue.outputs
  }

  /**
   * With `continue`, the agent was started again after a request was answered. It repeats the last prompt, and asks for
   * the same call again.
   * @param {AgentMessage} message
   */
  async send({ type, prompt }) {
    this.#tell(type === 'continue' ? { type } : { type, text: promptText(prompt.parts) })
  }

  async interrupt() {
    this.#tell({ type: 'stop' })
  }

  async configure() {}

  async close() {
    this.#isClosing = true
    this.#child.stdin.end()
    await this.#program.gone(closeMs)
    this.#program.killAll()
  }

  kill() {
    this.#isClosing = true
    this.#program.killAll()
  }

  /** @param {object} message */
  #tell(message) {
    if (!this.#isClosing && !this.#program.ended) this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /**
   * Runs the steps one after the other. While the host stores an output, nothing is read from the agent.
   * @param {() => Promise<void>} step
   */
  #next(step) {
    this.#unfinished++
    this.#reader?.pause()
    this.#work = this.#work.then(step).then(() => {
      if (--this.#unfinished === 0) this.#reader.resume()
    })
  }

  /** @param {Message} message @returns {Promise<void>} */
  async #translate(message) {
    await this.#queue.put({ type: 'native', message })
    switch (message.type) {
      case 'ready': {
        const { session: agentSessionId, version: agentVersion } = message
        const tools = ['write', 'replace']
        const { cwd } = this.#session
        return this.#queue.put({ type: 'agent.connected', agentSessionId, agentVersion, cwd, tools })
      }
      case 'piece':
        return this.#queue.put({ type: 'text.streamed', blockId: message.block, text: message.text })
      case 'text':
        return this.#queue.put({ type: 'text.written', blockId: message.block, text: message.text })
      case 'call':
        this.#calls.set(message.call, message)
        return this.#queue.put({ type: 'tool-call.called', toolCallId: message.call, ...describe(message) })
      case 'ask':
        // Not awaited, because the agent may continue while a person decides.
        void this.#ask(message.call)
        return
      case 'result': {
        const { call: toolCallId, outcome } = message
        this.#calls.delete(toolCallId)
        return this.#queue.put({ type: 'tool-call.ended', toolCallId, outcome, content: [] })
      }
      case 'end':
        return this.#queue.put({
          type: 'turn.ended',
          outcome: message.stopped ? 'cancelled' : 'completed',
          stopReason: message.stopped ? 'cancelled' : 'end_turn',
        })
      default:
        return this.#unknown(message)
    }
  }

  /** @param {unknown} native */
  #unknown(native) {
    return this.#queue.put({
      type: 'agent.unrecognised',
      native,
      reason: 'not a message that the adapter knows',
    })
  }

  /** @param {string} toolCallId */
  async #ask(toolCallId) {
    const call = this.#calls.get(toolCallId)
    if (!call) return
    const { name: tool, ...described } = describe(call)
    const answer = await this.#session.person.permit({
      toolCallId,
      tool,
      ...described,
      ...reachOf('edit', [call.input.path], this.#session),
      diffs: [await diffOf(call, this.#session)],
    })
    if (answer.outcome === 'cancelled') return
    this.#tell({ type: 'answer', allowed: answer.outcome === 'allowed' })
    if (answer.outcome === 'denied' && answer.endTurn) this.#tell({ type: 'stop' })
  }

  /** The output of the agent has ended: it has exited, or cannot be started. */
  async #ended() {
    await this.#program.gone(closeMs)
    const details = this.#program.exitDetails()
    this.#ready.reject(new ParleyError('agent_failed', 'My Agent does not start.', { details }))
    void this.#queue.put({
      type: 'agent.disconnected',
      reason: this.#isClosing ? 'closed' : 'crashed',
      ...details,
    })
    this.#queue.end()
  }
}

/**
 * The call as people see it. Its title comes from the input, not from a description by the model.
 * @param {Call} call
 */
function describe({ tool, input }) {
  return /** @type {const} */ ({ name: tool, kind: 'edit', title: input.path, input })
}

/**
 * @param {Call} call
 * @param {ConnectInput} session
 */
function diffOf({ input: { path, text, old } }, session) {
  return old === undefined ? writeDiff(path, text, session) : replaceDiff(path, [{ old, new: text }], session)
}
