import { hasCode } from '@parley/protocol'
import { createRateLimit } from '../../access/index.ts'
import { type AppParts, clientOf, type RequestContext } from './mount.ts'

/** The maximum number of failed attempts from one address, lower for pairing codes and links than for other sign-ins. */
const limits = {
  failures: { max: 300, perMs: 60_000 },
  codes: { max: 20, perMs: 60_000 },
  links: { max: 20, perMs: 60_000 },
}

export type LimitedWork = <Reply>(
  context: RequestContext,
  work: () => Promise<Reply>,
  limit?: keyof typeof limits,
) => Promise<Reply>

/** Returns a function that performs an attempt, unless too many attempts from the same address have failed. */
export function createAttemptLimits(parts: AppParts): LimitedWork {
  const now = () => performance.now()
  const counters = {
    failures: createRateLimit({ ...limits.failures, now }),
    codes: createRateLimit({ ...limits.codes, now }),
    links: createRateLimit({ ...limits.links, now }),
  }
  return async (context, work, limit = 'failures') => {
    const address = clientOf(parts, context)
    // The code of a link cannot be guessed. A known code is accepted even if other attempts from the same
    // address have failed.
    if (limit !== 'links') counters[limit].check(address)
    try {
      return await work()
    } catch (error) {
      if (hasCode(error, 'unauthorized')) {
        if (limit === 'links') counters.links.check(address)
        counters[limit].count(address)
      }
      throw error
    }
  }
}
