import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { AgentProcess } from '@parley/adapter-kit/child-process'
import { isOlder } from '@parley/adapter-kit/find-program'
import { type JsonLinesReader, readJsonLines } from '@parley/adapter-kit/json-lines'
import { createJsonRpc, type JsonRpcPeer } from '@parley/adapter-kit/json-rpc'
import { resolvesWithin } from '@parley/adapter-kit/time-limit'
import { messageOf, ParleyError } from '@parley/protocol'
import { type NativeMessage, unintelligible } from './native.ts'

export type ProgramOptions = {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Advice on how to get a version that works. */
  readonly installAdvice?: string | undefined
  /** The time limit of the handshake. */
  readonly startMs?: number | undefined
  /** Aborts the start. Ignored once the program has started. */
  readonly signal?: AbortSignal | undefined
}

export type RunningProgram = {
  readonly process: AgentProcess
  readonly rpc: JsonRpcPeer
  readonly lines: JsonLinesReader
  readonly version: string
  /** Resolves when the process has ended and all its output was read. */
  readonly ended: Promise<void>
  /** Closes the stdin of the program, which makes it exit. */
  dismiss(): void
  /** Sets the receiver of messages. It first receives the messages that have already arrived. */
  handOver(receive: (message: NativeMessage) => void): void
}

const oldestVersion = '0.166.0'
const defaultStartMs = 30_000
/** The time limit of requests about the sign-in state. */
const answerMs = 5_000
const drainMs = 500
const maxGarbage = 20
const maxGarbageLength = 1_000

const client = {
  clientInfo: { name: 'parley', title: 'Parley', version: '1' },
  capabilities: { experimentalApi: true, requestAttestation: false },
}

/**
 * Starts the program. Codex itself reads no key from the environment: if nobody is signed in and `OPENAI_API_KEY` is
 * set, Parley restarts Codex and sends it the key, which Codex holds only in memory. An existing sign-in is not
 * changed.
 */
export async function startSignedIn(options: ProgramOptions): Promise<RunningProgram> {
  const program = await startProgram(options)
  const { OPENAI_API_KEY: apiKey } = options.env
  if (!apiKey || (await isSignedIn(program))) return program
  program.process.kill()
  await program.ended
  const args = [...options.args, '-c', 'cli_auth_credentials_store="ephemeral"']
  const again = await startProgram({ ...options, args })
  // If the key is not accepted, nobody is signed in, which is reported when a session starts.
  await answered(again.rpc.call('account/login/start', { type: 'apiKey', apiKey }))
  return again
}

/** A program that does not respond counts as signed in: its error is reported later. */
async function isSignedIn({ rpc }: RunningProgram): Promise<boolean> {
  type Account = { readonly account?: unknown; readonly requiresOpenaiAuth?: boolean }
  const read = (await answered(rpc.call('account/read', {}))) as Account | undefined
  return read?.requiresOpenaiAuth !== true || (read.account ?? null) !== null
}

/** Returns undefined if the call fails or takes too long. */
async function answered(call: Promise<unknown>): Promise<unknown> {
  const result = call.catch(() => undefined)
  return (await resolvesWithin(answerMs, result)) ? result : undefined
}

/**
 * Starts `codex app-server` and performs the handshake. Rejects with a ParleyError that names the fault; the process
 * has then been ended.
 */
async function startProgram(options: ProgramOptions): Promise<RunningProgram> {
  const { program, args, env } = options
  const process = new AgentProcess()
  const child = process.spawn({ command: program, args: ['app-server', ...args], env })
  child.stdin.on('error', () => undefined)
  const inbox = mailbox()
  const garbage = garbageTo(inbox.put)
  const rpc = createJsonRpc({
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    request: inbox.put,
    notification: inbox.put,
    stray: garbage,
  })
  const drained = Promise.withResolvers<void>()
  const lines = readJsonLines(child.stdout, {
    message: (value) => rpc.take(value),
    garbage,
    end: () => drained.resolve(),
  })
  const ended = endOf(child).then(async () => {
    process.kill()
    await Promise.race([drained.promise, new Promise((resolve) => setTimeout(resolve, drainMs).unref())])
  })
  try {
    const version = await greet(rpc, ended, options)
    return { process, rpc, lines, version, ended, dismiss: () => child.stdin.end(), handOver: inbox.handOver }
  } catch (error) {
    process.kill()
    await ended
    throw cannotStart(options, error, process)
  }
}

async function greet(
  rpc: JsonRpcPeer,
  ended: Promise<void>,
  { startMs = defaultStartMs, signal }: ProgramOptions,
): Promise<string> {
  const failure = Promise.withResolvers<never>()
  const fail = (why: string) => failure.reject(new Error(why))
  const timer = setTimeout(fail, startMs, `it did not answer within ${startMs / 1000} s`)
  const giveUp = () => fail('the start was cancelled')
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  void ended.then(() => fail('it exited at once'))
  try {
    const answer = await Promise.race([rpc.call('initialize', client), failure.promise])
    const { userAgent } = (answer ?? {}) as { userAgent?: unknown }
    const version = /\/(\d+\.\d+\.\d+)/.exec(String(userAgent))?.[1]
    if (version === undefined) throw new Error('it does not report its version')
    if (isOlder(version, oldestVersion)) throw new Error(`it is version ${version}`)
    rpc.notify('initialized')
    return version
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}

function cannotStart(
  { program, installAdvice = `Install it: npm install -g @openai/codex@${oldestVersion}` }: ProgramOptions,
  error: unknown,
  process: AgentProcess,
): ParleyError {
  const why = messageOf(error)
  const { stderrTail, exitCode } = process.exitDetails()
  return new ParleyError(
    'agent_failed',
    `${program} could not be used as "codex app-server": ${why}. Parley needs Codex ${oldestVersion} or newer. ${installAdvice}`,
    {
      details: {
        ...(exitCode !== undefined && { exitCode }),
        ...(stderrTail !== undefined && { stderrTail }),
      },
      cause: error,
    },
  )
}

/** Resolves when the process ends, or if it could not be started. */
function endOf(child: ChildProcessWithoutNullStreams): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => {
      if (child.pid === undefined) resolve()
    })
  })
}

function mailbox() {
  const waiting: NativeMessage[] = []
  let receive: ((message: NativeMessage) => void) | undefined
  return {
    put: (message: NativeMessage) => void (receive ? receive(message) : waiting.push(message)),
    handOver(listener: (message: NativeMessage) => void) {
      receive = listener
      for (const message of waiting.splice(0)) listener(message)
    },
  }
}

/**
 * Passes the first lines that are not messages of the protocol to `put`, shortened, and then one note that further
 * lines are dropped.
 */
function garbageTo(put: (message: NativeMessage) => void): (value: unknown) => void {
  let count = 0
  return (value) => {
    count++
    if (count <= maxGarbage) put({ method: unintelligible, params: shortened(value) })
    else if (count === maxGarbage + 1)
      put({ method: unintelligible, params: '(further output was discarded)' })
  }
}

function shortened(value: unknown): unknown {
  const words = typeof value === 'string' ? value : JSON.stringify(value)
  return words.length > maxGarbageLength ? words.slice(0, maxGarbageLength) : value
}
