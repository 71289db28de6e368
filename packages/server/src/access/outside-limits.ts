import { ParleyError } from '@parley/protocol'
import type { Principal } from './principal.ts'

/** Throws ParleyError `forbidden` if the principal has limits. Used by operations that limits cannot restrict. */
export function expectNoLimits({ name, limits }: Principal): void {
  if (!limits) return
  const kinds = Object.keys(limits).join(' and ')
  throw new ParleyError(
    'forbidden',
    `This covers more than the ${kinds} to which "${name}" is limited. Use a token or a browser without limits.`,
    { details: { limits: true } },
  )
}

export function outsideLimits(what: string): ParleyError {
  return new ParleyError('forbidden', `${what} is outside the limits of this token or browser.`, {
    details: { limits: true },
  })
}
