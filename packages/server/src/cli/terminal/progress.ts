import type { Output } from './output.ts'
import { oneLine } from './visible.ts'

const tickMs = 500
const quietTickMs = 10_000

/** Progress of a long task on stderr: on a terminal one line that changes, otherwise a new line from time to time. */
export type Progress = Disposable & { say(line: string): void }

export function startProgress(what: string, output: Output): Progress {
  const { err, errStyle, isErrTerminal } = output
  const since = performance.now()
  let last = ''
  const show = () => {
    const seconds = `${Math.round((performance.now() - since) / 1000)} s`
    if (!isErrTerminal) return err(`${what}: ${seconds}${last && `, ${oneLine(last)}`}\n`)
    const line = oneLine(last, Math.max(0, output.columns() - what.length - seconds.length - 5))
    err(`${wipe}${what}  ${seconds}  ${errStyle.dim(line)}`)
  }
  const timer = setInterval(show, isErrTerminal ? tickMs : quietTickMs)
  if (isErrTerminal) show()
  else err(`${what}\n`)
  return {
    say(line) {
      last = line
      if (isErrTerminal) show()
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      if (isErrTerminal) err(wipe)
    },
  }
}

const wipe = '\r\u001b[2K'
