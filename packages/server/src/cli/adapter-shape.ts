import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type CapabilityName,
  capabilityNames,
  ParleyError,
  PermissionMode,
  SessionOptions,
} from '@parley/protocol'
import { z } from 'zod'
import { agentId } from './config-file.ts'

const call = z.custom((value) => typeof value === 'function', 'must be a function')
const optionNames = z.array(SessionOptions.keyof()).optional()
const names = z.array(z.string().min(1))

/** Every member of the port `AgentAdapter`. */
const members = {
  id: agentId,
  name: z.string().min(1).max(100),
  description: z.string().max(1000).optional(),
  capabilities: z.record(z.string(), z.boolean()),
  modes: z.array(PermissionMode).min(1),
  options: optionNames,
  restartsFor: optionNames,
  fixedOptions: optionNames,
  revision: z.string().optional(),
  keys: names.optional(),
  install: z
    .object({
      package: z.string().min(1),
      version: z.string().min(1),
      integrity: z.string().optional(),
      programVersion: z.string().optional(),
      library: z.object({ programIn: call, hasOtherProgram: call }).optional(),
    })
    .optional(),
  startsAhead: z.boolean().optional(),
  variables: z.object({ reserved: names, open: names.optional() }).optional(),
  endsOwnTurns: z.boolean().optional(),
  dropsCompacted: z.boolean().optional(),
  conversations: z.object({ list: call, read: call, idOf: call.optional() }).optional(),
  terminalCommand: call.optional(),
  probe: call,
  models: call.optional(),
  refusal: call.optional(),
  connect: call,
  prepare: call.optional(),
} satisfies Record<keyof AgentAdapter, z.ZodType>

const Shape = z.object(members)

/**
 * Checks that a value has the shape of an adapter. Returns an object of its own with bound functions, so that an
 * instance of a class works too, and later changes of the value have no effect. A capability that the module does not
 * know is false.
 */
export function adapterOf(value: unknown): AgentAdapter {
  const parsed = Shape.safeParse(value)
  if (!parsed.success) throw new ParleyError('validation_error', problemOf(parsed.error, value))
  const given = value as AgentAdapter
  const entries = Object.keys(parsed.data).map((key) => {
    const member = given[key as keyof AgentAdapter]
    return [key, typeof member === 'function' ? member.bind(given) : member] as const
  })
  const has = (name: CapabilityName) => given.capabilities[name] === true
  const capabilities = Object.fromEntries(capabilityNames.map((name) => [name, has(name)]))
  const present = entries.filter(([, member]) => member !== undefined)
  return { ...(Object.fromEntries(present) as AgentAdapter), capabilities } as AgentAdapter
}

function problemOf({ issues: [issue] }: z.ZodError, value: unknown): string {
  if (typeof value !== 'object' || value === null) return '"createAdapter" did not return an adapter.'
  return `its adapter is not valid at ${issue?.path.join('.')}: ${issue?.message}.`
}
