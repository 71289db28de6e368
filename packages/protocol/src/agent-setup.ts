import { z } from 'zod'
import { VariableName } from './environment.ts'

/**
 * Agent setup on the server's machine: agents that a person adds, their keys, and the check whether an agent
 * works.
 */

const newAgentId = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,63}$/,
    'must contain only lowercase letters, digits and dashes, and begin with a letter or digit',
  )

/** A program that speaks the Agent Client Protocol over stdio. It runs as the user of the server. */
export const NewAgent = z.strictObject({
  id: newAgentId,
  name: z.string().trim().min(1).max(100).optional(),
  command: z
    .string()
    .max(1000)
    .regex(/^(\/[^\0]+|[^/\s~\0][^/\0]*)$/, 'must be an absolute path, or a name on the PATH'),
  args: z
    .array(
      z
        .string()
        .max(1000)
        .regex(/^[^\0]*$/, 'an argument cannot contain a NUL character'),
    )
    .max(50)
    .optional(),
})
export type NewAgent = z.infer<typeof NewAgent>

/**
 * A key of an agent: the environment variable that holds it, and its value. The value is a secret: no reply
 * contains it.
 */
export const AgentKey = z.strictObject({
  variable: VariableName,
  value: z
    .string()
    .trim()
    .min(1)
    .max(10_000)
    .regex(/^[\x21-\x7e]+$/, 'a key can contain only ASCII characters, without spaces'),
})
export type AgentKey = z.infer<typeof AgentKey>

export const AgentCheck = z.object({
  name: z.string(),
  result: z.enum(['ok', 'info', 'warn', 'fail']),
  text: z.string(),
  lines: z.array(z.string()).optional().meta({ description: 'The output of the program' }),
})
export type AgentCheck = z.infer<typeof AgentCheck>
