/** Formats times, amounts and paths for people, and makes hidden characters visible. */

export { visible } from '@parley/protocol'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

export function ago(at: number, now: number): string {
  const past = Math.max(0, now - at)
  if (past < minute) return 'now'
  if (past < hour) return `${Math.floor(past / minute)} min`
  if (past < day) return `${Math.floor(past / hour)} h`
  if (past < 7 * day) return `${Math.floor(past / day)} d`
  return new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}

/** The age of a time, for use in a sentence such as "Signed in 6 min ago". */
export function agoInWords(at: number, now: number): string {
  const past = now - at
  if (past < minute) return 'just now'
  return past < 7 * day ? `${ago(at, now)} ago` : ago(at, now)
}

/** The time of day, and the day if it is not today. */
export function timeOf(at: number, now: number): string {
  const time = new Date(at).toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' })
  return dayOf(at, now) === 'Today' ? time : `${ago(at, now)}, ${time}`
}

export function duration(ms: number): string {
  if (ms < 950) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
}

export function amount(count: number): string {
  if (count < 1000) return String(Math.round(count))
  if (count < 10_000) return `${(count / 1000).toFixed(1)}k`
  if (count < 1_000_000) return `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`
  if (count < 1_000_000) return `${Math.round(count / 1000)} KB`
  return count < 1e9 ? `${Math.round(count / 1_000_000)} MB` : `${(count / 1e9).toFixed(1)} GB`
}

export function dollars(usd: number): string {
  if (usd === 0) return '$0'
  return usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** The last segment of a path. */
export function folderName(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path
}

export function relativePath(path: string, folder: string): string {
  const root = folder.endsWith('/') ? folder : `${folder}/`
  return folder !== '' && path.startsWith(root) ? path.slice(root.length) : path
}

/** The working time of a turn and, unless `short`, the time that it waited for people. */
export function turnTime(durationMs: number, waited: number, short = false): string {
  const work = duration(Math.max(0, durationMs - waited))
  return waited >= 1000 && !short ? `${work}, ${duration(waited)} waiting for you` : work
}

/** The heading of the day that a time belongs to. */
export function dayOf(at: number, now: number): 'Today' | 'Yesterday' | 'This week' | 'Earlier' {
  const midnight = new Date(now).setHours(0, 0, 0, 0)
  if (at >= midnight) return 'Today'
  if (at >= midnight - day) return 'Yesterday'
  return at >= midnight - 6 * day ? 'This week' : 'Earlier'
}
