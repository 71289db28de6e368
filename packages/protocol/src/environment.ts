import { z } from 'zod'
import { SessionId } from './ids.ts'

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

const place = { sessionId: SessionId.optional(), folder: z.string().min(1).optional() }
const onePlace = (given: { sessionId?: unknown; folder?: unknown }) =>
  (given.sessionId === undefined) !== (given.folder === undefined)
const whichPlace = 'give either sessionId or folder'

/** Sets variables; variables that are not named keep their values. */
export const NewEnvironment = z
  .strictObject({ ...place, variables: EnvironmentVariables })
  .refine(onePlace, whichPlace)
export type NewEnvironment = z.infer<typeof NewEnvironment>

/** Removes one variable, or without a name all variables of the session or folder. */
export const OldEnvironment = z
  .strictObject({ ...place, name: VariableName.optional() })
  .refine(onePlace, whichPlace)
export type OldEnvironment = z.infer<typeof OldEnvironment>

/** The names of the variables that are set for a session, or for a folder and everything inside it. */
export const EnvironmentInfo = z.object({ ...place, names: z.array(z.string()) })
export type EnvironmentInfo = z.infer<typeof EnvironmentInfo>
