import { z } from 'zod'
import type { SessionOptions } from './session.ts'

/** Descriptions of the session options, for programs that list options which they do not know. */

type OptionName = keyof SessionOptions & string

export const AgentOption = z.object({
  name: z.string(),
  type: z.enum(['string', 'boolean', 'integer', 'number', 'string[]', 'object']),
  description: z.string(),
  values: z
    .array(z.string())
    .optional()
    .meta({ description: 'The values it takes, as far as they are told' }),
  takesEffect: z.enum(['at-once', 'next-start', 'new-session']).meta({
    description:
      'A changed value holds at once, from the next start of the agent (which Parley sees to), or only in a new session',
  }),
})
export type AgentOption = z.infer<typeof AgentOption>

export const optionDetails: Readonly<Record<OptionName, Pick<AgentOption, 'type' | 'description'>>> = {
  effort: { type: 'string', description: 'How much the model thinks' },
  tools: { type: 'string[]', description: 'The only tools that may be used' },
  hostToolsOnly: { type: 'boolean', description: 'The agent gets the tools of the host, and no others' },
  systemPrompt: { type: 'string', description: "In place of the agent's own system prompt" },
  appendSystemPrompt: { type: 'string', description: "Added to the agent's own system prompt" },
  maxTurns: { type: 'integer', description: 'After so many calls of the model a turn ends' },
  maxBudgetUsd: { type: 'number', description: 'When a turn has cost so many US dollars, it ends' },
  directories: { type: 'string[]', description: 'More folders to work in' },
  outputSchema: { type: 'object', description: 'The JSON Schema that the result of a turn must fit' },
  userSettings: { type: 'boolean', description: "False: without the person's own settings" },
}
