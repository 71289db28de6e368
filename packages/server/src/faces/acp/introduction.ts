import {
  type AuthenticateResponse,
  type InitializeResponse,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk/unstable'
import type { AgentInfo } from '@parley/protocol'

/** How a person signs in: with the agent's own program. Parley has no way in of its own. */
const withTheProgram = 'program'

/** What the editor may count on: what the agent can do, and what Parley adds for any agent. */
export function introduction(agent: AgentInfo, version: string): InitializeResponse {
  const { capabilities: can, name, hint } = agent
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'parley', title: `${name} (Parley)`, version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: can.images, audio: false, embeddedContext: true },
      // Not every agent that takes MCP servers takes them over SSE, and none says so beforehand.
      mcpCapabilities: { http: can.mcp, sse: false },
      sessionCapabilities: {
        list: {},
        resume: {},
        close: {},
        delete: {},
        ...(can.fork && { fork: {} }),
      },
    },
    authMethods:
      agent.signedIn === true || hint === undefined
        ? []
        : [{ id: withTheProgram, name: `Sign in with ${name} itself`, description: hint }],
    ...(can.steer && { _meta: { steering: { supported: true } } }),
  }
}

/** Looks again whether the person has signed in meanwhile. */
export function signIn(agent: AgentInfo, methodId: string): AuthenticateResponse {
  if (methodId !== withTheProgram)
    throw RequestError.invalidParams({ code: 'validation_error' }, `there is no method "${methodId}"`)
  if (agent.signedIn === false || !agent.found)
    throw RequestError.authRequired({ code: 'agent_not_signed_in' }, agent.hint)
  return {}
}
