import {
  type DraftOf,
  defined,
  dueRestore,
  errorInfoOf,
  leftPaths,
  type OpenRestore,
  ParleyError,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import type { SessionFolder } from './session-folder.ts'
import type { SessionContext } from './session-services.ts'

type Ended = DraftOf<'session.rewound' | 'session.unrewound' | 'restore.failed'>

/**
 * Performs the restorations of files that the log records as started. A restoration that a kill interrupted is
 * performed again, and its end is recorded once.
 */
export class FileRestore {
  readonly #context: SessionContext
  /** The restorations that were started in this process. */
  readonly #started = new Set<number>()
  #check: (() => void)[] = []

  constructor(context: SessionContext) {
    this.#context = context
    context.stopping.addEventListener('abort', () => this.recorded(), { once: true })
  }

  get #open(): OpenRestore | undefined {
    return this.#context.log.state.restore
  }

  started(seq: number): void {
    this.#started.add(seq)
  }

  /** Performs the restoration that is due, and records its end. */
  async run(): Promise<void> {
    const { log, persist, problem } = this.#context
    const due = dueRestore(log.state)
    if (!due) return
    const ended = await this.#end(due).catch((error: unknown): Ended => {
      if (!(error instanceof ParleyError)) problem(error, 'restore files')
      return { type: 'restore.failed', started: due.seq, error: errorInfoOf(error) }
    })
    await persist((state) => ({
      drafts: dueRestore(state)?.seq === due.seq ? causedBy(due.actor, [ended]) : [],
    }))
  }

  async #end({ seq, before: from, to, ...due }: OpenRestore): Promise<Ended> {
    const { services, log } = this.#context
    const { id: sessionId, cwd } = log.state
    const again = !this.#started.has(seq)
    const done = await folderOf(services.sessionFolder).move(cwd, { sessionId, from, to, again })
    const { before, after, count } = done
    const files = { before, after, count, ...defined({ left: leftPaths(done.left, due.left) }) }
    if (due.rewind) return { type: 'session.rewound', ...due.rewind, files }
    return { type: 'session.unrewound', rewound: due.unrewind ?? 0, files }
  }

  /** Called after each recorded batch. */
  recorded(): void {
    for (const check of this.#check) check()
  }

  /** Resolves when the restoration is done. Rejects with its error if it has failed. */
  async done(seq: number): Promise<void> {
    const { stopping } = this.#context
    const isOver = () => stopping.aborted || this.#open?.seq !== seq || this.#open.failed !== undefined
    const over = Promise.withResolvers<void>()
    const check = () => isOver() && over.resolve()
    this.#check.push(check)
    check()
    await over.promise
    this.#check = this.#check.filter((one) => one !== check)
    if (this.#open?.seq !== seq) return
    const { failed } = this.#open
    if (failed)
      throw new ParleyError(failed.code, failed.message, failed.details && { details: failed.details })
    throw new ParleyError('busy', 'Parley is stopping. The files are restored after its next start.')
  }
}

export function folderOf(folder: SessionFolder | undefined): SessionFolder {
  if (folder) return folder
  throw new ParleyError(
    'not_supported',
    'This server takes no snapshots of folders, so files cannot be restored.',
  )
}
