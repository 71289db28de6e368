import { z } from 'zod'
import { SessionId } from './ids.ts'
import { Place } from './place.ts'

/**
 * Environment variables of an agent's process, for one session or for all sessions of a folder. Values are
 * secrets: no reply of the API, no log and no export contains them.
 */

export const VariableName = z
  .string()
  .max(200)
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'a variable name has only letters, digits and _, and does not begin with a digit',
  )

const Value = z
  .string()
  .max(32_768)
  .refine((value) => !value.includes('\0'), 'a value cannot contain a NUL character')

export const EnvironmentVariables = z
  .record(VariableName, Value)
  .refine((variables) => Object.keys(variables).length <= 100, 'at most 100 variables')
export type EnvironmentVariables = z.infer<typeof EnvironmentVariables>

const target = {
  sessionId: SessionId.optional(),
  folder: z.string().min(1).optional(),
  place: Place.optional(),
}
type Target = { sessionId?: unknown; folder?: unknown; place?: unknown }
const isOneTarget = ({ sessionId, folder, place }: Target) =>
  sessionId === undefined ? folder !== undefined : folder === undefined && place === undefined
const whichTarget = 'give either sessionId or folder; place is only valid with folder'

/** Sets variables; variables that are not named keep their values. */
export const NewEnvironment = z
  .strictObject({ ...target, variables: EnvironmentVariables })
  .refine(isOneTarget, whichTarget)
export type NewEnvironment = z.infer<typeof NewEnvironment>

/** Removes one variable or, without `name`, all variables of the session or folder. */
export const OldEnvironment = z
  .strictObject({ ...target, name: VariableName.optional() })
  .refine(isOneTarget, whichTarget)
export type OldEnvironment = z.infer<typeof OldEnvironment>

/** The names of the variables that are set for a session, or for a folder and everything inside it. */
export const EnvironmentInfo = z.object({ ...target, names: z.array(z.string()) })
export type EnvironmentInfo = z.infer<typeof EnvironmentInfo>
