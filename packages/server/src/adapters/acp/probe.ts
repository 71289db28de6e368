import { type AgentProbe, newId, ParleyError, type PermissionMode } from '@parley/protocol'
import type { AgentOutput, Person } from '../../core/agent-adapter.ts'
import { type AcpConnectionOptions, connectAcp } from './connection.ts'
import { hasCredential } from './credential.ts'

export type ProbeOptions = AcpConnectionOptions & {
  /** The version from its package.json. */
  readonly version: string | undefined
  /** The working directory of the process. */
  readonly folder: string
}

type Connected = Extract<AgentOutput, { type: 'agent.connected' }>

/** Denies everything: a probe must not run anything. */
const nobody: Person = {
  forbids: () => true,
  permit: async () => ({ outcome: 'denied', requestId: 'probe' }),
  answer: async () => ({ outcome: 'cancelled', requestId: 'probe' }),
}

/** Starts the program, creates a session, and ends it; reports what the program says about itself. Never rejects. */
export async function probeProgram(options: ProbeOptions, signal: AbortSignal): Promise<AgentProbe> {
  const { agent, program, version } = options
  const found: AgentProbe = { found: true, path: program, ...(version !== undefined && { version }) }
  try {
    const told = await introductionOf(options, signal)
    return { ...found, ...described(options, told) }
  } catch (error) {
    const { code, message } =
      error instanceof ParleyError ? error : { code: 'agent_failed', message: `${error}` }
    if (code === 'agent_not_signed_in') {
      return { ...found, signedIn: false, hint: 'Sign in with the program itself.', ...howToSignIn(agent) }
    }
    if (!signal.aborted) return { ...found, usable: false, hint: message }
    const hint = `${agent.name} did not answer in time: "parley agents doctor ${agent.id}" says more.`
    return { ...found, hint }
  }
}

async function introductionOf({ folder, ...options }: ProbeOptions, signal: AbortSignal): Promise<Connected> {
  const [mode = 'ask'] = Object.keys(options.agent.modes) as PermissionMode[]
  const connection = await connectAcp(options, {
    sessionId: newId('ses'),
    connectionId: newId('con'),
    cwd: folder,
    settings: { mode },
    trusted: false,
    person: nobody,
    signal,
  })
  const closed = connection.close()
  let told: Connected = { type: 'agent.connected' }
  for await (const output of connection.events)
    if (output.type === 'agent.connected') told = { ...told, ...output }
  await closed
  return told
}

function described({ agent, env, version }: ProbeOptions, told: Connected): Partial<AgentProbe> {
  const { agentVersion, models, credential } = told
  const signedIn = credential !== undefined || agent.signIn?.required || hasCredential(agent, env)
  return {
    ...(version === undefined && agentVersion !== undefined && { version: agentVersion }),
    ...(models && { models }),
    ...(signedIn ? { signedIn: true } : howToSignIn(agent)),
  }
}

function howToSignIn({ signIn }: ProbeOptions['agent']): Pick<AgentProbe, 'hint' | 'command'> {
  if (!signIn) return {}
  const { hint, command } = signIn
  return { hint, ...(command !== undefined && { command }) }
}
