import { type CheckRun, type ErrorInfo, errorInfoOf, ParleyError, type SessionState } from '@parley/protocol'
import { refuseIf } from './decision.ts'
import { isWithin } from './folder-trust.ts'
import type { ProjectCommands } from './project-commands.ts'
import { isTrusted, type SessionContext, type SessionServices } from './session-services.ts'
import { settingsFor } from './session-worktrees.ts'

/** One check. `why` is the reason why the host has stopped it. */
type Run = { readonly ending: AbortController; why?: ErrorInfo }

/**
 * Runs the check of one session, from its event `check.started` to `check.ran`. A check that the end of the server has
 * interrupted is not repeated: it is recorded as one that did not end.
 */
export class SessionChecks {
  readonly #context: SessionContext
  #running: { readonly run: Run; readonly done: Promise<void> } | undefined

  constructor(context: SessionContext) {
    this.#context = context
  }

  get busy(): boolean {
    return this.#running !== undefined
  }

  /** Called when `check.started` is recorded. */
  started(command: string): void {
    const run: Run = { ending: new AbortController() }
    const done = this.#run(command, run).finally(() => {
      // The next check can begin as soon as the end of this one is recorded.
      if (this.#running?.run === run) this.#running = undefined
    })
    this.#running = { run, done }
  }

  /** Ends the check that runs, and records why. */
  async stop(why: ErrorInfo): Promise<void> {
    const running = this.#running
    if (!running) return
    running.run.why ??= why
    running.run.ending.abort()
    await running.done
  }

  async #run(command: string, run: Run): Promise<void> {
    const { services, persist } = this.#context
    const start = services.clock.now()
    const ran = await this.#ran(command, run.ending.signal).catch(
      (error: unknown): CheckRun => ({
        command,
        durationMs: Math.max(0, services.clock.now() - start),
        tail: '',
        error: run.why ?? errorInfoOf(error),
      }),
    )
    const { checkMs } = services.limits
    const late = { code: 'busy' as const, message: `The limit is ${minutes(checkMs)}.` }
    const result = ran.exitCode === undefined && !ran.error ? { ...ran, error: late } : ran
    await persist(({ checks }) => ({ drafts: checks?.running ? [{ type: 'check.ran', ...result }] : [] }))
  }

  async #ran(command: string, signal: AbortSignal): Promise<CheckRun> {
    const { services, log } = this.#context
    const { cwd, worktree } = log.state
    const commands = commandsOf(services)
    const folder = await commands.folderFor(cwd)
    // Trust may have been revoked since the command was accepted.
    expectTrust(services, log.state, folder)
    return commands.run(folder, {
      command,
      ...(worktree && { source: worktree.source }),
      timeoutMs: services.limits.checkMs,
      signal,
      mark: checkMark(log.sessionId),
    })
  }
}

export const checkStopped: ErrorInfo = { code: 'cancelled', message: 'The check was stopped.' }
export const serverStopped: ErrorInfo = {
  code: 'cancelled',
  message: 'The server was stopped while the check ran. Run it again.',
}

/** The mark of the processes of a check. */
export const checkMark = (sessionId: string) => `check:${sessionId}`

const minutes = (ms: number) => (ms === 60_000 ? 'a minute' : `${Math.round(ms / 60_000)} minutes`)

/** The command of the project with which the work of a session is checked. Throws a refusal if it cannot be run. */
export async function checkCommandOf(services: SessionServices, state: SessionState): Promise<string> {
  const commands = commandsOf(services)
  const { check } = await settingsFor(services, state.project)
  if (check === undefined) {
    const message =
      'The project of this session has no check command. Set one in the settings of the project (check), then run the check.'
    throw new ParleyError('not_supported', message, { details: { setting: 'check' } })
  }
  expectTrust(services, state, await commands.folderFor(state.cwd))
  return check
}

/** A check runs programs of the repository, perhaps programs that an agent has just written. */
function expectTrust(services: SessionServices, { worktree }: SessionState, folder: string): void {
  const its = worktree && isWithin(folder, worktree.path) ? worktree : undefined
  refuseIf(
    !isTrusted(services, { cwd: folder, worktree: its }, services.place),
    'conflict',
    `The folder ${its?.source ?? folder} is not trusted, so no check runs in it. Trust the folder, then run the check.`,
  )
}

function commandsOf({ projectCommands }: SessionServices): ProjectCommands {
  if (projectCommands) return projectCommands
  throw new ParleyError('not_supported', 'This server runs no commands of projects.')
}
