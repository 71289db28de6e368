import { ParleyError } from '@parley/protocol'

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Parses "90", "90s", "5m", "1h" or "500ms" to milliseconds. */
export function parseDuration(text: string, name: string): number {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim())
  const ms = found ? Number(found[1]) * (units[found[2] ?? 's'] ?? 1000) : 0
  if (ms > 0 && ms <= 2 ** 31 - 1) return ms
  throw new ParleyError('validation_error', `${name} takes a time such as 90s, 5m or 1h, not "${text}".`)
}

const day = 24 * 60 * 60_000
const lifetimeUnits: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 60 * 60_000,
  d: day,
  w: 7 * day,
  y: 365 * day,
}
const longestLifetime = 10 * 365 * day

/** Parses "90m", "12h", "30d", "2w" or "1y" to milliseconds. */
export function parseLifetime(text: string, name: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([mhdwy])$/.exec(text.trim()) ?? []
  const ms = Number(amount) * (lifetimeUnits[unit] ?? Number.NaN)
  if (ms > 0 && ms <= longestLifetime) return ms
  throw new ParleyError(
    'validation_error',
    `${name} takes a time such as 12h, 30d, 2w or 1y, of at most 10 years, not "${text}".`,
  )
}

/** A remaining lifetime, rounded to its largest unit: 29d, 12h, 5m. */
export function lifetimeText(ms: number): string {
  const [size, unit] = ms >= 2 * day ? [day, 'd'] : ms >= 2 * 3_600_000 ? [3_600_000, 'h'] : [60_000, 'm']
  return `${Math.max(1, Math.round(ms / (size as number)))}${unit}`
}

/** Parses "12h" or "30d" to milliseconds. */
export function parseAge(text: string, name: string): number {
  const found = /^([1-9]\d{0,4})([hd])$/.exec(text.trim())
  if (found) return Number(found[1]) * (found[2] === 'd' ? 86_400_000 : 3_600_000)
  throw new ParleyError(
    'validation_error',
    `${name} is a number of hours or days such as 12h or 30d, not "${text}".`,
  )
}

/** A duration in its most useful unit: 850 ms, 12.3 s, 4 min. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.round(ms / 60_000)} min`
}

/** Like `durationText`, but with one decimal digit below 10 ms. */
export function millisecondsText(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : durationText(ms)
}

/** A time in the time zone of this machine: 2026-11-18 20:05. */
export function localTimeText(at: number): string {
  return new Date(at).toLocaleString('sv-SE').slice(0, 16)
}

export function ageText(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes}m`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h`
  return `${Math.floor(minutes / (24 * 60))}d`
}

export function sizeText(bytes: number): string {
  return bytes < 1_000_000_000
    ? `${(bytes / 1_000_000).toFixed(1)} MB`
    : `${(bytes / 1_000_000_000).toFixed(1)} GB`
}
