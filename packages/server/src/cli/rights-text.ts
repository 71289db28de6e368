import { allScopes, type Limits, ParleyError, Scope } from '@parley/protocol'
import { lifetimeText } from './durations.ts'
import { nearest } from './nearest.ts'

/** Scopes in the order in which they are defined, or `all`. */
export function scopesText(scopes: readonly Scope[]): string {
  if (scopes.length === 0) return 'none'
  const given = allScopes.filter((scope) => scopes.includes(scope))
  return given.length === allScopes.length ? 'all' : given.join(',')
}

export function limitsText(limits: Limits | undefined): string {
  const { folders = [], agents = [], sessions = [] } = limits ?? {}
  const parts = [
    ...folders.map(({ folder, place }) => (place === undefined ? folder : `${folder} (${place})`)),
    ...(agents.length > 0 ? [`agents ${agents.join(',')}`] : []),
    ...(sessions.length > 0 ? [`sessions ${sessions.join(',')}`] : []),
  ]
  return parts.join('; ') || '-'
}

export function expiryText(expiresAt: number | undefined, now = Date.now()): string {
  if (expiresAt === undefined) return 'never'
  return expiresAt <= now ? 'expired' : `in ${lifetimeText(expiresAt - now)}`
}

/** Parses the values of --scope: names that are separated by commas. */
export function scopesOf(given: readonly string[]): Scope[] {
  const words = given.flatMap((one) => one.split(',')).map((word) => word.trim())
  return [...new Set(words.map(scopeOf))]
}

function scopeOf(word: string): Scope {
  const scope = Scope.safeParse(word).data
  if (scope) return scope
  const near = nearest(word, allScopes)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  throw new ParleyError(
    'validation_error',
    `--scope takes ${allScopes.join(', ')}, separated by commas, not "${word}".${hint}`,
  )
}
