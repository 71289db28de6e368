/** The interface of this folder: people, devices, tokens, links, and the principal of each request. */
import type { DecisionLinkParts, DecisionLinks } from './decision-links.ts'

export type { DecideByLink, DecisionLinkParts, DecisionLinks } from './decision-links.ts'
export { type DeviceGrant, Devices } from './devices.ts'
export { embeddedHost } from './embedded-host.ts'
export { expectReach, hostActingFor, hostFor, seesChange } from './guarded-host.ts'
export {
  type Caller,
  type DecideFrom,
  Holders,
  machineId,
  machinePrincipal,
  unstoredCaller,
} from './holders.ts'
export { invitePrefix, People } from './people.ts'
export {
  actorOf,
  expectGrantable,
  expectNoLimits,
  expectRevocable,
  expectScopes,
  holds,
  maySee,
  outsideLimits,
  type Principal,
  permitsFolder,
  permitsSession,
  type Rights,
  rightsOf,
} from './principal.ts'
export { createRateLimit } from './rate-limit.ts'
export { ownerId } from './record-data.ts'
export { Tokens } from './tokens.ts'

/** The module is loaded when a link is created or used, because a server does not need it at its start. */
export async function openDecisionLinks(parts: DecisionLinkParts): Promise<DecisionLinks> {
  const { DecisionLinks } = await import('./decision-links.ts')
  return new DecisionLinks(parts)
}
