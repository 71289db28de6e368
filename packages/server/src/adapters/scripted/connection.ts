import type { AgentConnection, AgentMessage, AgentOutput, ConnectInput } from '@parley/adapter-kit'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import {
  type AgentCommand,
  type AgentModel,
  hostToolName,
  messageOf,
  type PermissionMode,
  type Prompt,
  promptText,
  type SessionSettings,
} from '@parley/protocol'
import type { Gates, Sleep } from './gates.ts'
import { playTurn } from './player.ts'
import type { Script, Step } from './script.ts'
import { effectiveSettings } from './settings.ts'
import { answeredPaths, entriesBefore, promptsBefore, type Transcript, temporaryCopy } from './transcript.ts'

/**
 * The input of a script function. The same prompt must give the same script again, since a parked turn resumes at a
 * step of the script.
 */
export type ScriptContext = {
  readonly sessionId: string
  readonly cwd: string
  readonly prompt: Prompt
  readonly settings: SessionSettings
  /** The texts of the earlier prompts, as the agent remembers them. */
  readonly history: readonly string[]
}

/** The dependencies that all connections of one adapter share. They do not change. */
export type ConnectionDeps = {
  readonly script: (text: string, context: ScriptContext) => Script
  readonly models: readonly AgentModel[]
  readonly commands: readonly AgentCommand[]
  readonly modes: readonly PermissionMode[]
  readonly version: string
  readonly transcript: Transcript
  readonly gates: Gates
  readonly steerGate: (words: string) => string | undefined
  readonly sleep: Sleep
  readonly pieceDelayMs: number
}

type RunningTurn = { readonly idPrefix: string; readonly interrupted: AbortController; steered: number }

export class ScriptedConnection implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #deps: ConnectionDeps
  readonly #input: ConnectInput
  readonly #queue = createOutputQueue(() => this.close())
  readonly #closed = new AbortController()
  #agentSessionId: string
  #settings: SessionSettings = {}
  #turn: RunningTurn | undefined
  #turns: Promise<void> = Promise.resolve()
  #continued = 0
  /** Steered prompts that wait at a gate. */
  readonly #pending = new Set<string>()

  constructor(deps: ConnectionDeps, input: ConnectInput) {
    this.#deps = input.resume?.temporary ? { ...deps, transcript: temporaryCopy(deps.transcript) } : deps
    this.#input = input
    this.events = this.#queue.outputs
    this.#agentSessionId = this.#begin()
    const { effective, refused } = effectiveSettings(deps.models, input.settings)
    this.#settings = effective
    this.#queue.put({
      type: 'agent.connected',
      agentSessionId: this.#agentSessionId,
      cwd: input.cwd,
      agentVersion: deps.version,
      tools: toolsFor(input),
      commands: [...deps.commands],
      modes: [...deps.modes],
      models: [...deps.models],
      ...(effective.model !== undefined && { model: effective.model }),
    })
    this.#reportSettings(refused)
  }

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#closed.signal.aborted) return undefined
    const { type, prompt } = message
    if (type === 'prompt' && prompt.delivery === 'steer') {
      if (this.#turn) void this.#takeUp(this.#turn, prompt)
      return 'pending'
    }
    const turn = this.#newTurn(message)
    this.#turn ??= turn
    this.#turns = this.#turns.then(() => this.#play(message, turn)).catch((error) => this.#crash(error))
    return undefined
  }

  async takeBack(promptId: string): Promise<boolean> {
    return this.#pending.delete(promptId)
  }

  async interrupt(): Promise<void> {
    this.#turn?.interrupted.abort()
  }

  async configure(settings: SessionSettings): Promise<void> {
    const { effective, refused } = effectiveSettings(this.#deps.models, settings, this.#settings)
    this.#settings = effective
    this.#reportSettings(refused)
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return
    this.#queue.put({ type: 'agent.disconnected', reason: 'closed' })
    this.#gone()
  }

  kill(): void {
    void this.close()
  }

  /** Reports a failing script or transcript as a crash of this agent, through an output. */
  #crash(error: unknown): void {
    const message = messageOf(error)
    this.#queue.put({
      type: 'agent.disconnected',
      reason: 'crashed',
      error: { code: 'agent_failed', message: `The script could not be played: ${message}` },
    })
    this.#gone()
  }

  #gone(): void {
    this.#queue.end()
    this.#closed.abort()
  }

  /** The id of the conversation to use. A fork starts with a copy of the original's transcript, under a new id. */
  #begin(): string {
    const { resume, connectionId } = this.#input
    if (resume && !resume.fork) return resume.agentSessionId
    const own = `scripted-${connectionId}`
    if (resume) this.#remember(resume.agentSessionId, own, resume.before)
    return own
  }

  #remember(from: string, under: string, before?: readonly string[]): void {
    const { transcript } = this.#deps
    for (const entry of entriesBefore(transcript.load(from), before)) transcript.append(under, entry)
  }

  #reportSettings(refused: readonly string[]): void {
    for (const text of refused) {
      this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'setting_refused', text })
    }
    this.#queue.put({ type: 'session.configured', effective: this.#settings })
  }

  async #takeUp(turn: RunningTurn, prompt: Prompt): Promise<void> {
    const gate = this.#deps.steerGate(promptText(prompt.parts))
    if (gate !== undefined) {
      this.#pending.add(prompt.promptId)
      await this.#deps.gates.pass(gate, turn.interrupted.signal)
      if (!this.#pending.delete(prompt.promptId) || this.#turn !== turn) return
    }
    this.#queue.put({ type: 'prompt.taken', promptId: prompt.promptId })
    const blockId = `${turn.idPrefix}.steer-${++turn.steered}`
    const text = `While I am at it: ${promptText(prompt.parts)}`
    this.#queue.put({ type: 'text.streamed', blockId, text })
    this.#queue.put({ type: 'text.written', blockId, text })
  }

  #newTurn({ type, prompt: { promptId } }: AgentMessage): RunningTurn {
    return {
      idPrefix: type === 'prompt' ? promptId : `${promptId}.${this.#input.connectionId}.${++this.#continued}`,
      interrupted: new AbortController(),
      steered: 0,
    }
  }

  async #play(message: AgentMessage, turn: RunningTurn): Promise<void> {
    const { prompt } = message
    const resuming = message.type === 'continue'
    if (this.#closed.signal.aborted) return
    this.#turn = turn
    const { transcript, gates, sleep, pieceDelayMs } = this.#deps
    const memory = transcript.load(this.#agentSessionId)
    const playing = playTurn({
      script: this.#scriptFor(prompt, promptsBefore(memory, prompt.promptId)),
      idPrefix: turn.idPrefix,
      cwd: this.#input.cwd,
      person: this.#input.person,
      hostTools: this.#input.hostTools,
      gates,
      sleep,
      pieceDelayMs,
      interrupted: turn.interrupted.signal,
      closed: this.#closed.signal,
      resuming,
      answered: resuming ? answeredPaths(memory, prompt.promptId) : new Set(),
      remember: (type, path) =>
        transcript.append(this.#agentSessionId, { type, promptId: prompt.promptId, path }),
    })
    if (!resuming)
      transcript.append(this.#agentSessionId, {
        type: 'prompt',
        promptId: prompt.promptId,
        text: textOf(prompt),
      })
    for (;;) {
      const next = await playing.next()
      if (next.done) return next.value === 'gone' ? this.#gone() : undefined
      await this.#give(next.value)
    }
  }

  async #give(output: AgentOutput): Promise<void> {
    if (output.type === 'turn.ended') this.#turn = undefined
    if (output.type === 'agent.connected' && output.agentSessionId !== undefined) {
      this.#remember(this.#agentSessionId, output.agentSessionId)
      this.#agentSessionId = output.agentSessionId
    }
    await this.#queue.put(output)
  }

  #scriptFor(prompt: Prompt, history: readonly string[]): Script {
    const { parts } = prompt
    if (parts.some((part) => part.type === 'command' && part.name === 'compact')) return compaction
    const { sessionId, cwd } = this.#input
    const script = this.#deps.script(textOf(prompt), {
      sessionId,
      cwd,
      prompt,
      settings: this.#settings,
      history,
    })
    return [...attachmentsSeen(prompt), ...script]
  }
}

const ownTools = ['Read', 'Edit', 'Bash', 'Search', 'Task']

function toolsFor({ hostTools, settings }: ConnectInput): string[] {
  const ofHost = (hostTools?.tools ?? []).map(({ name }) => hostToolName(name))
  return settings.options?.hostToolsOnly ? ofHost : [...ownTools, ...ofHost]
}

const compaction: Script = [
  {
    type: 'compaction',
    trigger: 'manual',
    before: 120_000,
    after: 9_000,
    summary: 'The conversation so far, in short.',
  },
]

function textOf(prompt: Prompt): string {
  return promptText(prompt.parts.filter((part) => part.type === 'text' || part.type === 'command'))
}

function attachmentsSeen(prompt: Prompt): Step[] {
  const seen = prompt.parts.flatMap((part) => {
    if (part.type === 'image') return [`the image ${part.name ?? 'without a name'} (${part.mimeType})`]
    if (part.type === 'file') return [`the file ${part.path ?? part.name}`]
    return []
  })
  return seen.length > 0 ? [{ type: 'text', text: `I see ${seen.join(' and ')}.` }] : []
}
