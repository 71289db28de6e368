/** The interface of this folder: who may do what, and on whose behalf a request acts. */
export { type DeviceGrant, Devices } from './devices.ts'
export { hostActingFor, hostFor, outsideLimits, seesChange } from './guarded-host.ts'
export { type Caller, Holders, lastingCaller, machineCaller } from './holders.ts'
export { invitePrefix, People } from './people.ts'
export {
  actorOf,
  expectGrantable,
  expectScopes,
  mayManage,
  type Principal,
  permitsFolder,
  permitsSession,
  type Rights,
} from './principal.ts'
export { createRateLimit } from './rate-limit.ts'
export { Tokens } from './tokens.ts'
