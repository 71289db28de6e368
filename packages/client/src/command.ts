import {
  type Answers,
  type CommandInput,
  type Delivery,
  defined,
  type ForkWorktree,
  newId,
  ParleyError,
  type PermissionScope,
  type PromptPart,
  type Receipt,
  type SessionSettings,
} from '@parley/protocol'
import { checkCommand } from './check-command.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Http, unreachable } from './http.ts'
import { untilReached } from './retry.ts'
import type { Socket } from './socket.ts'

type WithoutId<Input> = Input extends unknown ? Omit<Input, 'commandId'> : never
/** A command as a caller writes it: the client adds the id. */
export type NewCommand = WithoutId<CommandInput>

export type CommandOptions = {
  readonly signal?: AbortSignal | undefined
  /** Set this id to repeat a command that an earlier run of this program may have sent. */
  readonly commandId?: string | undefined
}

/**
 * Each method resolves when its command is in the log, and rejects with a ParleyError if it is refused or cancelled.
 */
export type Commands = {
  command(sessionId: string, command: NewCommand, options?: CommandOptions): Promise<Receipt>
  prompt(
    sessionId: string,
    prompt: string | PromptPart[],
    /** `before`: the prompt is placed before the first of these prompts that still waits. */
    options?: CommandOptions & { delivery?: Delivery; before?: readonly string[]; paused?: true },
  ): Promise<Receipt>
  withdraw(sessionId: string, promptId: string, options?: CommandOptions): Promise<Receipt>
  /** Moves a prompt in the queue, before another waiting prompt, or to the end. */
  move(sessionId: string, promptId: string, options?: CommandOptions & { before?: string }): Promise<Receipt>
  /** Cancels the running turn. Queued prompts are paused, unless `pauseQueue` is false. */
  cancel(
    sessionId: string,
    options?: CommandOptions & { turnId?: string; pauseQueue?: boolean },
  ): Promise<Receipt>
  resumeQueue(sessionId: string, options?: CommandOptions): Promise<Receipt>
  /** Stops one background task, or all of them. */
  stopTasks(sessionId: string, options?: CommandOptions & { taskId?: string }): Promise<Receipt>
  /** Ends the agent's process, so that the conversation can continue in the agent's own program. */
  release(sessionId: string, options?: CommandOptions): Promise<Receipt>
  decide(
    sessionId: string,
    requestId: string,
    decision: 'allow' | 'deny',
    options?: CommandOptions & DecisionOptions,
  ): Promise<Receipt>
  answer(sessionId: string, requestId: string, answers: Answers, options?: CommandOptions): Promise<Receipt>
  configure(sessionId: string, settings: SessionSettings, options?: CommandOptions): Promise<Receipt>
  /**
   * Copies the session: all of it, or what happened before the turn of the prompt `before`. With `worktree`, the copy
   * works in a new worktree, with the files of that moment.
   */
  fork(
    sessionId: string,
    options?: CommandOptions & { before?: string; title?: string; worktree?: ForkWorktree },
  ): Promise<Receipt & { sessionId: string }>
  compact(sessionId: string, options?: CommandOptions): Promise<Receipt>
  /** Ends the agent's process; the session is kept. */
  closeSession(sessionId: string, options?: CommandOptions): Promise<Receipt>
}

export type DecisionOptions = {
  readonly scope?: PermissionScope
  readonly message?: string
  readonly input?: unknown
  readonly endTurn?: boolean
}

export type CommandsOptions = {
  readonly http: Http
  readonly socket: Socket
  readonly clock?: Clock
  /** When this signal aborts, pending commands are cancelled. */
  readonly closing?: AbortSignal
  /** A command without a receipt after this time is sent again. */
  readonly receiptTimeoutMs?: number
}

export function createCommands(options: CommandsOptions): Commands {
  const deliver = createDelivery(options)
  const lastPrompt = new Map<string, Promise<unknown>>()

  async function command(sessionId: string, input: NewCommand, given: CommandOptions = {}): Promise<Receipt> {
    const whole = checkCommand({ ...input, commandId: given.commandId ?? newId('cmd') } as CommandInput)
    if (whole.type !== 'prompt.submit') return deliver(sessionId, whole, given.signal)
    return inOrder(sessionId, () => deliver(sessionId, whole, given.signal))
  }

  /** Sends the prompts of one session one after the other, so that a retry cannot overtake another prompt. */
  async function inOrder(sessionId: string, send: () => Promise<Receipt>): Promise<Receipt> {
    const sent = (lastPrompt.get(sessionId) ?? Promise.resolve()).then(send)
    const settled = sent.catch(() => {})
    lastPrompt.set(sessionId, settled)
    try {
      return await sent
    } finally {
      if (lastPrompt.get(sessionId) === settled) lastPrompt.delete(sessionId)
    }
  }

  return {
    command,
    prompt(sessionId, prompt, { delivery = 'queue', before = [], paused, ...rest } = {}) {
      const words = typeof prompt === 'string' ? { text: prompt } : { parts: prompt }
      const place = { ...(before.length > 0 && { before: [...before] }), ...(paused && { paused }) }
      return command(sessionId, { type: 'prompt.submit', ...words, delivery, ...place }, rest)
    },
    withdraw: (sessionId, promptId, given) =>
      command(sessionId, { type: 'prompt.withdraw', promptId }, given),
    move: (sessionId, promptId, { before, ...rest } = {}) =>
      command(sessionId, { type: 'prompt.move', promptId, ...(before !== undefined && { before }) }, rest),
    cancel(sessionId, { signal, commandId, ...rest } = {}) {
      return command(sessionId, { type: 'turn.cancel', ...rest }, { signal, commandId })
    },
    resumeQueue: (sessionId, given) => command(sessionId, { type: 'queue.resume' }, given),
    stopTasks(sessionId, { taskId, ...rest } = {}) {
      return command(sessionId, { type: 'task.stop', ...(taskId !== undefined && { taskId }) }, rest)
    },
    release: (sessionId, given) => command(sessionId, { type: 'session.release' }, given),
    decide(sessionId, requestId, decision, { signal, commandId, ...rest } = {}) {
      const fields = { type: 'permission.decide' as const, requestId, decision, ...rest }
      return command(sessionId, fields, { signal, commandId })
    },
    answer: (sessionId, requestId, answers, given) =>
      command(sessionId, { type: 'question.answer', requestId, answers }, given),
    configure: (sessionId, settings, given) =>
      command(sessionId, { type: 'session.configure', ...settings }, given),
    async fork(sessionId, { before, title, worktree, ...rest } = {}) {
      const fields = defined({ before, title, worktree })
      const receipt = await command(sessionId, { type: 'session.fork', ...fields }, rest)
      if (receipt.sessionId !== undefined) return { ...receipt, sessionId: receipt.sessionId }
      throw new ParleyError('internal_error', 'The reply to session.fork has no session id.')
    },
    compact: (sessionId, given) => command(sessionId, { type: 'session.compact' }, given),
    closeSession: (sessionId, given) => command(sessionId, { type: 'session.close' }, given),
  }
}

/**
 * The maximum number of characters of a command that is sent over the socket. A larger command would block the socket
 * or, above the socket's own limit, close it. Larger commands are sent over HTTP, which can refuse them.
 */
const maxOverSocket = 100_000

type Deliver = (sessionId: string, command: CommandInput, signal?: AbortSignal) => Promise<Receipt>

/**
 * Sends a command until it is answered, always with the same id, so that it takes effect once. The first attempt uses
 * the socket if it is open. Later attempts use HTTP, which can return an error.
 */
function createDelivery(options: CommandsOptions): Deliver {
  const { http, socket, clock = systemClock, closing, receiptTimeoutMs: timeoutMs = 20_000 } = options
  return (sessionId, command, given) => {
    const body = command
    const signal = closing && given ? AbortSignal.any([closing, given]) : (closing ?? given)
    let first = JSON.stringify(body).length <= maxOverSocket
    const attempt = () => {
      const overSocket = first && socket.status.state === 'open'
      first = false
      if (overSocket) return receiptOverSocket({ sessionId, command, signal, timeoutMs, http, socket, clock })
      return http.call('command', { params: { id: sessionId }, body, signal, timeoutMs })
    }
    return untilReached(attempt, { clock, socket, signal })
  }
}

function receiptOverSocket(input: {
  sessionId: string
  command: CommandInput
  signal: AbortSignal | undefined
  timeoutMs: number
  http: Http
  socket: Socket
  clock: Clock
}): Promise<Receipt> {
  const { sessionId, command, signal, timeoutMs, http, socket, clock } = input
  return new Promise((resolve, reject) => {
    const settle = (result: () => void) => {
      for (const forget of forgets) forget()
      result()
    }
    const lost = () => settle(() => reject(unreachable(http.url)))
    const forgets = [
      socket.onFrame((frame) => {
        if (frame.type !== 'receipt' || frame.commandId !== command.commandId) return
        const { type, session, seq, error, ...rest } = frame
        if (error) settle(() => reject(ParleyError.from(error)))
        else settle(() => resolve({ ...rest, seq: seq ?? 0 }))
      }),
      socket.onStatus(lost),
      clock.after(timeoutMs, lost),
      () => signal?.removeEventListener('abort', lost),
    ]
    signal?.addEventListener('abort', lost, { once: true })
    if (!socket.send({ type: 'command', session: sessionId, command })) lost()
  })
}
