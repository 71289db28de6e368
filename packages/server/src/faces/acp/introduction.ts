import {
  type AuthenticateResponse,
  type InitializeResponse,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk/unstable'
import type { AgentInfo } from '@parley/protocol'

/**
 * The id of the only sign-in method: a person signs in with the agent's own program, because Parley has no
 * sign-in of its own.
 */
const withTheProgram = 'program'

/**
 * The answer to `initialize`: the capabilities of the agent, and the capabilities that Parley adds to every
 * agent.
 */
export function introduction(agent: AgentInfo, version: string): InitializeResponse {
  const { capabilities: can, name, hint } = agent
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'parley', title: `${name} (Parley)`, version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: can.images, audio: false, embeddedContext: true },
      // SSE is not offered: not every agent with MCP support accepts it, and no agent reports whether it does.
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

/**
 * The answer to `authenticate`. Throws if the agent is not signed in. `agent` must be freshly probed, because
 * the person may have signed in meanwhile.
 */
export function signIn(agent: AgentInfo, methodId: string): AuthenticateResponse {
  if (methodId !== withTheProgram)
    throw RequestError.invalidParams({ code: 'validation_error' }, `there is no method "${methodId}"`)
  if (agent.signedIn === false || !agent.found)
    throw RequestError.authRequired({ code: 'agent_not_signed_in' }, agent.hint)
  return {}
}
