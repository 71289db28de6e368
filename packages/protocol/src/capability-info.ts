import { z } from 'zod'
import { type CapabilityName, capabilityNames } from './agent.ts'

/** Descriptions of the capabilities, for programs that list capabilities which they do not know. */

export const CapabilityType = z.enum(['sampling', 'tool', 'resource', 'prompt', 'session']).meta({
  description:
    'What it is about: what the model writes, tools and their calls, files and data, what people and the agent ask each other, the conversation as a whole',
})
export type CapabilityType = z.infer<typeof CapabilityType>

export const CapabilityInfo = z.object({
  name: z.enum(capabilityNames),
  type: CapabilityType,
  description: z.string(),
})
export type CapabilityInfo = z.infer<typeof CapabilityInfo>

const capabilityDetails: Readonly<Record<CapabilityName, readonly [CapabilityType, string]>> = {
  streaming: ['sampling', 'Text comes in pieces while it is being written'],
  thinking: ['sampling', 'Thinking is told apart from text'],
  toolInputStreaming: ['tool', 'The input of a call comes in pieces before the call'],
  toolOutputStreaming: ['tool', 'The output of a call comes in pieces before its end'],
  permissions: ['tool', 'A call waits for a permission, and runs only once it is allowed'],
  editInput: ['tool', 'A call can be allowed with another input than the agent gave'],
  questions: ['prompt', 'It asks questions, with options or free text'],
  plan: ['prompt', 'It tells a plan, and how far it is'],
  planApproval: ['prompt', 'It puts a plan before a person before it acts'],
  subagents: ['tool', 'It delegates to subagents, whose work is shown under their call'],
  background: ['tool', 'Subagents and commands go on when the turn has ended, can ask and can be stopped'],
  images: ['resource', 'A prompt may hold images'],
  files: ['resource', 'A prompt may hold files'],
  resume: ['session', 'Its conversation goes on after a restart'],
  fork: ['session', 'A session can be copied with its conversation'],
  interrupt: ['session', 'A turn can be stopped'],
  steer: ['prompt', 'Words can be put into a turn that runs'],
  models: ['sampling', 'A session can be given a model'],
  effort: ['sampling', 'A session can be given an effort of thinking'],
  modes: ['session', 'The mode can be changed while it runs'],
  mcp: ['tool', 'A session can bring MCP servers'],
  hostTools: ['tool', 'It can call tools of the program that embeds Parley'],
  commands: ['prompt', 'It has slash commands'],
  compaction: ['session', 'Its conversation can be shortened'],
  rewind: ['resource', 'Files can be brought back to how they were before a prompt'],
  usage: ['sampling', 'It counts tokens'],
  cost: ['sampling', 'It tells what a turn costs'],
  structuredOutput: ['sampling', 'The result of a turn can be given a JSON Schema'],
  retraction: ['sampling', 'It takes back what it began to write, and the log says so'],
  environment: ['resource', "A session can bring variables for the agent's process"],
  rejoin: ['session', 'What was said in its own program is added to the session before the next turn'],
}

/** All capabilities, in the order of their names in `AgentInfo.capabilities`. */
export function capabilityInfos(): CapabilityInfo[] {
  return capabilityNames.map((name) => {
    const [type, description] = capabilityDetails[name]
    return { name, type, description }
  })
}
