import { BenchSession } from '@parley/adapter-kit/testing'
import type { NewRule, PermissionMode, SessionEvent } from '@parley/protocol'
import { afterAll, onTestFailed } from 'vitest'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import type { AgentHome } from '../../testing/agent-home.ts'
import { createClaudeAdapter } from './index.ts'

type ModeSession = { readonly cwd: string; readonly session: BenchSession }

/**
 * One session for each permission mode, for all tests of a file, so that Claude Code is started once for each mode.
 * After a failed test, the next test gets new sessions.
 */
export class SessionsByMode {
  readonly #home: AgentHome
  readonly #prepare: (cwd: string) => void
  #host: Promise<Host> | undefined
  #sessions = new Map<PermissionMode, ModeSession>()

  /** `prepare` is called with the folder of each new session. */
  constructor(home: AgentHome, prepare: (cwd: string) => void = () => undefined) {
    this.#home = home
    this.#prepare = prepare
    afterAll(() => this.#close())
  }

  /**
   * Runs one turn and denies every request. The rule applies only to this turn. Returns the events of the turn and the
   * folder of the session.
   */
  async play(
    mode: PermissionMode,
    prompt: string | ((cwd: string) => string),
    rule?: NewRule,
  ): Promise<{ cwd: string; events: SessionEvent[] }> {
    onTestFailed(() => this.#close())
    this.#host ??= this.#open()
    const host = await this.#host
    const { cwd, session } = await this.#session(host, mode)
    const added = rule && (await host.addRule(rule))
    const turnId = await runTurn(session, typeof prompt === 'string' ? prompt : prompt(cwd))
    if (added) await host.removeRule(added.ruleId)
    return { cwd, events: session.events.filter((event) => event.turnId === turnId) }
  }

  #open(): Promise<Host> {
    const adapters = [createClaudeAdapter({ env: this.#home.env('claude') })]
    return createHost({ adapters, store: createMemoryStore() })
  }

  async #session(host: Host, mode: PermissionMode): Promise<ModeSession> {
    const known = this.#sessions.get(mode)
    if (known) return known
    const cwd = this.#home.folder('work')
    this.#prepare(cwd)
    const { id } = await host.create({ agent: 'claude', cwd, mode })
    const created = { cwd, session: await BenchSession.follow(() => host, id) }
    this.#sessions.set(mode, created)
    return created
  }

  async #close(): Promise<void> {
    const host = this.#host
    this.#host = undefined
    this.#sessions = new Map()
    await (await host)?.close()
  }
}

/** Returns the id of the turn. A subagent in the background can cause further turns, which do not count. */
async function runTurn(session: BenchSession, prompt: string): Promise<string | undefined> {
  const turn = await session.prompt(prompt)
  const denied = new Set<string>()
  for (;;) {
    const next = await session.until(
      () => turn.all('turn.ended')[0] ?? turn.all('permission.requested').find(isOpen),
    )
    if (next.type === 'turn.ended') return turn.turnId
    denied.add(next.requestId)
    await turn.decide(next, 'deny')
  }

  function isOpen({ requestId }: { requestId: string }): boolean {
    const isResolved = turn.all('permission.resolved').some((event) => event.requestId === requestId)
    return !isResolved && !denied.has(requestId)
  }
}
