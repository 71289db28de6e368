import { z } from 'zod'
import { type CapabilityName, capabilityNames } from './agent.ts'

/**
 * Descriptions of the capabilities, so that a program can list capabilities that were added after the program was
 * written.
 */

export const CapabilityType = z.enum(['sampling', 'tool', 'resource', 'prompt', 'session']).meta({
  description:
    'The area: sampling (what the model writes), tool (tools and their calls), resource (files and data), prompt (exchange between people and the agent), session (the conversation as a whole)',
})
export type CapabilityType = z.infer<typeof CapabilityType>

export const CapabilityInfo = z.object({
  name: z.enum(capabilityNames),
  type: CapabilityType,
  description: z.string(),
})
export type CapabilityInfo = z.infer<typeof CapabilityInfo>

const capabilityDetails: Readonly<Record<CapabilityName, readonly [CapabilityType, string]>> = {
  streaming: ['sampling', 'Text is streamed while it is written'],
  thinking: ['sampling', 'Thinking is separate from text'],
  toolInputStreaming: ['tool', 'The input of a call is streamed before the call'],
  toolOutputStreaming: ['tool', 'The output of a call is streamed before its end'],
  permissions: ['tool', 'A call waits for a permission, and runs only if it is allowed'],
  editInput: ['tool', 'A call can be allowed with an edited input'],
  questions: ['prompt', 'The agent asks questions, with options or free text'],
  plan: ['prompt', 'The agent reports a plan and its progress'],
  planApproval: ['prompt', 'The agent asks a person to approve a plan before it acts'],
  subagents: [
    'tool',
    'The agent delegates to subagents; their work is shown under the call that started them',
  ],
  background: [
    'tool',
    'Subagents and commands can continue after the turn has ended, ask for permission, and be stopped',
  ],
  images: ['resource', 'A prompt may contain images'],
  files: ['resource', 'A prompt may contain files'],
  resume: ['session', 'The conversation continues after a restart of the agent'],
  fork: ['session', 'A session can be copied with its conversation'],
  forkBefore: ['session', 'A session can be copied with its conversation up to an earlier prompt'],
  forkElsewhere: ['session', 'The copy of a session can work in another folder'],
  aside: [
    'session',
    'The agent answers a question from a copy of its conversation that is stored nowhere, without tools',
  ],
  interrupt: ['session', 'A turn can be stopped'],
  steer: ['prompt', 'A prompt can be sent into a running turn'],
  models: ['sampling', 'The model of a session can be chosen'],
  effort: ['sampling', 'The reasoning effort of a session can be chosen'],
  modes: ['session', 'The mode can be changed while the agent runs'],
  mcp: ['tool', 'A session can have its own MCP servers'],
  hostTools: ['tool', 'The agent can call tools of the program that embeds Parley'],
  commands: ['prompt', 'The agent has slash commands'],
  compaction: ['session', 'The conversation can be compacted'],
  usage: ['sampling', 'The agent reports the tokens that it used'],
  cost: ['sampling', 'The agent reports the cost of a turn'],
  structuredOutput: ['sampling', 'The result of a turn can follow a JSON Schema'],
  retraction: ['sampling', 'The agent can retract a block; the retraction is recorded'],
  environment: ['resource', "A session can set variables for the agent's process"],
  rejoin: ['session', "Messages from the agent's own program are added to the session before the next turn"],
}

/** All capabilities, in the order of their names in `AgentInfo.capabilities`. */
export function capabilityInfos(): CapabilityInfo[] {
  return capabilityNames.map((name) => {
    const [type, description] = capabilityDetails[name]
    return { name, type, description }
  })
}
