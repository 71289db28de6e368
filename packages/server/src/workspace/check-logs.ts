import { type CheckLog, hasCode, messageOf } from '@parley/protocol'
import type { FolderGit } from './folder-git.ts'
import { forgeFailed, type LogSource } from './forge.ts'
import { plain } from './output.ts'

export const mostLogs = 5
const longestLog = 8_000
/** The number of bytes that are read from the end of a log. */
const tailBytes = 256 * 1024
const logMs = 60_000

/** Reads the logs. If a log cannot be read, the result has the reason in its place. */
export function readLogs(git: FolderGit, sources: readonly LogSource[]): Promise<CheckLog[]> {
  return Promise.all(sources.slice(0, mostLogs).map((source) => readLog(git, source)))
}

async function readLog(git: FolderGit, source: LogSource): Promise<CheckLog> {
  const name = source.name.slice(0, 500)
  if ('problem' in source) return { name, text: '', problem: source.problem }
  try {
    const made = await git.reach(source.args, { timeoutMs: logMs, tail: tailBytes })
    if (made.code !== 0) throw forgeFailed(source.args[0], made)
    const text = (source.lines ?? String)(plain(made.stdout)).trim()
    const shown = text.slice(-longestLog)
    return { name, text: shown, ...(shown.length < text.length && { cut: true }) }
  } catch (error) {
    // Without the program or a sign-in, none of the logs can be read.
    if (hasCode(error, 'not_supported') || hasCode(error, 'forbidden')) throw error
    return { name, text: '', problem: messageOf(error).slice(0, 500) }
  }
}

/** A log of `gh`: each line begins with the job, the step and the time. The step is printed once, as a heading. */
export function linesOfGithub(log: string): string {
  let step: string | undefined
  return log
    .split('\n')
    .flatMap((line) => {
      const [, of, text] = /^[^\t]*\t([^\t]*)\t(.*)$/.exec(line) ?? []
      if (of === undefined || text === undefined) return [line]
      const heading = of === step ? [] : [`${of}:`]
      step = of
      return [...heading, text.replace(/^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z /, '')]
    })
    .join('\n')
}
