import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter, AgentConnection, AgentOutput, Person } from '@parley/adapter-kit'
import { type AgentProbe, messageOf, newId, ParleyError } from '@parley/protocol'
import { UnrecognisedCount } from '../core/index.ts'
import type { CommandLine } from '../faces/http/command-line.ts'
import { type Check, fail, ok, warn } from './checks.ts'
import { notUnderstood } from './doctor-messages.ts'
import { durationText } from './durations.ts'

export type ExaminationInput = {
  readonly adapter: AgentAdapter
  /** The module of config.json that the adapter comes from. */
  readonly module: string | undefined
  readonly commandLine: CommandLine
  /** A prompt to send, if given: the model answers it, and every permission is denied. */
  readonly prompt?: string
  readonly timeoutMs: number
  /** Aborted by Ctrl-C: no started process may outlive the check. */
  readonly stop: AbortSignal
  readonly add: (check: Check) => void
}

const probeMs = 10_000
/** The time after `probeMs` within which the programs that the probe has started must end. */
const probeGraceMs = 3_000
const closeMs = 10_000
/**
 * The time limit for an agent to introduce itself after its start. Some agents introduce themselves only after the
 * first prompt.
 */
const introductionMs = 5_000
const tailLines = 8

/** Looks for an agent, starts it in an empty folder, exchanges messages with it, and ends it. */
export async function examineAgent(examination: ExaminationInput): Promise<void> {
  if (await look(examination)) await start(examination)
}

/** Probes the agent and adds the results as checks. Returns false if the examination cannot continue. */
async function look({ adapter, module, commandLine, stop, add }: ExaminationInput): Promise<boolean> {
  const { id, install } = adapter
  const probe = await withTimeout(
    probeMs + probeGraceMs,
    adapter.probe(AbortSignal.any([AbortSignal.timeout(probeMs), stop])),
  ).catch((thrown: unknown): AgentProbe => ({ found: false, hint: (thrown as Error).message }))
  const { found, path, version, usable, signedIn, hint = '' } = probe
  if (!found) {
    const command = install ? `Install it: ${commandLine(`agents install ${id}`)}` : ''
    add(fail('found', `not found. ${hint || command}`))
    return false
  }
  add(ok('found', path ?? (module === undefined ? 'it is part of Parley' : `in the module ${module}`)))
  if (usable === false) {
    add(fail('usable', `cannot be used. ${hint}`))
    return false
  }
  if (version !== undefined) add(versionCheck(version, adapter, commandLine))
  if (signedIn === undefined) return true
  add(signedIn ? ok('sign-in', 'signed in') : fail('sign-in', `not signed in. ${hint}`))
  return signedIn
}

function versionCheck(version: string, { id, install }: AgentAdapter, commandLine: CommandLine): Check {
  const tested = install?.programVersion ?? install?.version
  if (!install || tested === version) return ok('version', version)
  const command = commandLine(`agents install ${id}${install.library ? ' --with-program' : ''}`)
  const text = `${version} is not tested with this version of Parley; ${tested} is. To install the tested version: ${command}`
  return warn('version', text)
}

async function start(examination: ExaminationInput): Promise<void> {
  const { adapter, timeoutMs, stop, add } = examination
  const cwd = mkdtempSync(join(tmpdir(), 'parley-doctor-'))
  const began = performance.now()
  try {
    const timeout = AbortSignal.timeout(timeoutMs)
    const connecting = adapter.connect({
      sessionId: newId('ses'),
      connectionId: newId('con'),
      cwd,
      settings: { mode: adapter.modes.includes('ask') ? 'ask' : (adapter.modes[0] ?? 'ask') },
      trusted: false,
      person: denyingPerson,
      signal: AbortSignal.any([timeout, stop]),
    })
    const connection = await withTimeout(timeoutMs + graceMs, connecting).catch((thrown: unknown) => {
      if (!stop.aborted) add(startFailure(thrown, timeout.aborted, examination))
      void connecting.then((late) => late.close()).catch(() => undefined)
    })
    if (!connection) return
    add(ok('start', `answers after ${durationText(performance.now() - began)}`))
    const outputs = listen(connection)
    await converse(connection, outputs, examination)
    await end(connection, add)
    const { total } = outputs.unrecognised
    if (total) add(warn('messages', notUnderstood(total)))
  } finally {
    rmSync(cwd, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** The time that an adapter gets after the timeout to fail by itself: its own error has more detail. */
const graceMs = 1_000

/** A check must not run anything, so every request is denied. */
const denyingPerson: Person = {
  forbids: () => true,
  permit: async () => ({ outcome: 'denied', requestId: 'doctor', message: 'This is only a check.' }),
  answer: async () => ({ outcome: 'cancelled', requestId: 'doctor' }),
}

function startFailure(thrown: unknown, isLate: boolean, { adapter, timeoutMs }: ExaminationInput): Check {
  const name = 'start'
  const { code, message, details } = asParleyError(thrown)
  const lines = tailOf(details?.stderrTail)
  const more = { name, result: 'fail' as const, ...(lines.length > 0 && { lines }) }
  if (isLate || code === 'busy') {
    return { ...more, text: `${adapter.name} did not answer within ${durationText(timeoutMs)}` }
  }
  return { ...more, text: message }
}

function asParleyError(thrown: unknown): ParleyError {
  if (thrown instanceof ParleyError) return thrown
  return new ParleyError('internal_error', messageOf(thrown))
}

async function converse(
  connection: AgentConnection,
  outputs: ReturnType<typeof listen>,
  examination: ExaminationInput,
): Promise<void> {
  const { adapter, prompt: words, timeoutMs, stop, add } = examination
  const stopped = new Promise<undefined>((resolve) =>
    stop.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
  const first = await Promise.race([outputs.connected, outputs.gone, pause(introductionMs), stopped])
  if (first?.type === 'agent.disconnected') return add(goneCheck(first, adapter))
  if (first?.type === 'agent.connected') add(ok('introduction', introduction(first)))
  if (words === undefined || stop.aborted) return
  const parts = [{ type: 'text' as const, text: words }]
  const prompt = { promptId: newId('prm'), parts, delivery: 'queue' as const, at: Date.now() }
  await withTimeout(timeoutMs, connection.send({ type: 'prompt', prompt })).catch(() => undefined)
  const last = await Promise.race([outputs.turn, outputs.gone, pause(timeoutMs), stopped])
  if (stop.aborted) return
  if (last?.type === 'agent.disconnected') return add(goneCheck(last, adapter))
  add(turnCheck(last, timeoutMs))
}

type OutputOf<Type> = Extract<AgentOutput, { type: Type }>

/** The only reader of a connection. It reads all outputs, so that the agent is not blocked. */
function listen(connection: AgentConnection) {
  const connected = Promise.withResolvers<OutputOf<'agent.connected'>>()
  const turn = Promise.withResolvers<OutputOf<'turn.ended'>>()
  const gone = Promise.withResolvers<OutputOf<'agent.disconnected'>>()
  const unrecognised = new UnrecognisedCount()
  const read = async () => {
    for await (const output of connection.events) {
      if (output.type === 'agent.connected') connected.resolve(output)
      if (output.type === 'turn.ended') turn.resolve(output)
      if (output.type === 'agent.disconnected') gone.resolve(output)
      if (output.type === 'agent.unrecognised') unrecognised.add({ ...output, at: Date.now() })
    }
  }
  const over: OutputOf<'agent.disconnected'> = { type: 'agent.disconnected', reason: 'crashed' }
  void read()
    .catch(() => undefined)
    .then(() => gone.resolve(over))
  return { connected: connected.promise, turn: turn.promise, gone: gone.promise, unrecognised }
}

function introduction({ agentVersion, models, commands, credential }: OutputOf<'agent.connected'>): string {
  const words = [
    agentVersion && `version ${agentVersion}`,
    models && `${models.length} models`,
    commands && `${commands.length} commands`,
    credential && `paid with ${credential}`,
  ]
  return words.filter(Boolean).join(', ') || 'it is ready'
}

function goneCheck(output: OutputOf<'agent.disconnected'>, { name }: AgentAdapter): Check {
  const { error, exitCode, signal, stderrTail } = output
  const how = signal ? ` (${signal})` : typeof exitCode === 'number' ? ` (exit code ${exitCode})` : ''
  const text = `${name} ended by itself${how}${error ? `: ${error.message}` : ''}`
  const lines = tailOf(stderrTail)
  return { name: 'stays', result: 'fail', text, ...(lines.length > 0 && { lines }) }
}

function turnCheck(output: OutputOf<'turn.ended'> | undefined, timeoutMs: number): Check {
  const name = 'prompt'
  if (!output) return fail(name, `the turn did not end within ${durationText(timeoutMs)}`)
  const { outcome, error } = output
  if (outcome === 'completed') return ok(name, 'completed')
  return fail(name, `${outcome}${error ? `: ${error.message}` : ''}`)
}

async function end(connection: AgentConnection, add: (check: Check) => void): Promise<void> {
  try {
    await withTimeout(closeMs, connection.close())
    add(ok('end', 'ended when asked to'))
  } catch {
    const text = `did not exit within ${durationText(closeMs)}: check for a leftover process`
    add(warn('end', text))
  }
}

function tailOf(stderr: unknown): string[] {
  if (typeof stderr !== 'string') return []
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  return lines.slice(-tailLines)
}

function withTimeout<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new ParleyError('busy', 'Timed out.')), ms)
  return Promise.race([work, timeout.promise]).finally(() => clearTimeout(timer))
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref())
}
