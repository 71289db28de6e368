import { z } from 'zod'
import type { SessionOptions } from './session.ts'

/**
 * Descriptions of the session options, so that a program can list options that were added after the program was
 * written.
 */

type OptionName = keyof SessionOptions & string

export const AgentOption = z.object({
  name: z.string(),
  type: z.enum(['string', 'boolean', 'integer', 'number', 'string[]', 'object']),
  description: z.string(),
  values: z.array(z.string()).optional().meta({ description: 'The accepted values, if they are known' }),
  takesEffect: z.enum(['at-once', 'next-start', 'new-session']).meta({
    description:
      'When a changed value takes effect: at once, with the next start of the agent (which Parley triggers), or only in a new session',
  }),
})
export type AgentOption = z.infer<typeof AgentOption>

export const optionDetails: Readonly<Record<OptionName, Pick<AgentOption, 'type' | 'description'>>> = {
  effort: { type: 'string', description: 'The reasoning effort of the model' },
  tools: { type: 'string[]', description: 'The only tools that may be used' },
  hostToolsOnly: { type: 'boolean', description: 'The agent gets only the tools of the host' },
  systemPrompt: { type: 'string', description: "Replaces the agent's own system prompt" },
  appendSystemPrompt: { type: 'string', description: "Appended to the agent's own system prompt" },
  maxTurns: { type: 'integer', description: 'The maximum number of model calls in a turn' },
  maxBudgetUsd: { type: 'number', description: 'The maximum cost of a turn, in US dollars' },
  directories: { type: 'string[]', description: 'Additional folders to work in' },
  outputSchema: { type: 'object', description: 'The JSON Schema of the result of a turn' },
  userSettings: { type: 'boolean', description: "false: do not load the person's own settings" },
}
