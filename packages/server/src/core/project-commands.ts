import type { SetupRun } from '@parley/protocol'

/**
 * PORT. Runs the commands that a person has given for a project. Rules:
 * - a command runs in a shell and in a process group of its own, which ends with it, without the variables of this
 *   server.
 * - it is ended after `timeoutMs`; then `exitCode` is absent. If `signal` aborts, it is ended, and the promise rejects.
 */
export type ProjectCommands = {
  /** The folder in which commands run for a session in this folder: the top of its work tree. */
  folderFor(cwd: string): Promise<string>
  run(folder: string, how: CommandToRun): Promise<SetupRun>
  /** Ends what a run with this mark has left behind, perhaps because this process was killed. */
  end(mark: string): void
}

export type CommandToRun = {
  readonly command: string
  /** The folder that the worktree was made from; by default the folder itself. */
  readonly source?: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Marks the processes of the run. */
  readonly mark: string
}
