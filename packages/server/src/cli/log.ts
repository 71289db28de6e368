import { type LogFn, type Logger, pino } from 'pino'
import { isOutage } from '../core/index.ts'
import type { LogLevel } from './config-file.ts'
import type { Output } from './terminal/output.ts'
import { visible } from './terminal/visible.ts'

/** Writes JSON lines to stderr for programs, and short lines on a terminal. */
export function createLogger(level: LogLevel, output: Output): Logger {
  const options = { level, base: { pid: process.pid }, hooks: { logMethod: withoutOutages } }
  const formatted = (line: string) => (output.isErrTerminal ? `${shortLine(line)}\n` : line)
  return pino(options, { write: (line: string) => output.err(formatted(line)) })
}

/** Writes failures caused by a database outage only at `debug`: the outage itself is logged on one line. */
function withoutOutages(this: Logger, given: Parameters<LogFn>, method: LogFn): void {
  const [fields, text] = given as unknown as [{ readonly err?: unknown } | undefined, string | undefined]
  const error = typeof fields === 'object' ? fields.err : undefined
  if (isOutage(error)) this.debug({ ...fields, err: undefined, reason: error.message }, text)
  else method.apply(this, given)
}

const names: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** Formats a JSON log line for people: time, level, message, then the rest as key=value. */
export function shortLine(json: string): string {
  const { level, time, pid, msg, err, ...rest } = JSON.parse(json) as Record<string, unknown>
  const clock = new Date(Number(time)).toTimeString().slice(0, 8)
  const fields = Object.entries(rest).map(([key, value]) => `${key}=${wordOf(value)}`)
  const why = (err as { message?: unknown; stack?: unknown } | undefined)?.stack
  const line = [clock, (names[Number(level)] ?? String(level)).padEnd(5), msg, ...fields].join(' ')
  return visible(why === undefined ? line : `${line}\n${why}`)
}

function wordOf(value: unknown): string {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value)
}
