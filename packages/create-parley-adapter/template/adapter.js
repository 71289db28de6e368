import { fileURLToPath } from 'node:url'
import { agentEnvironment } from '@parley/adapter-kit/environment'
import { runProgram } from '@parley/adapter-kit/run-program'
import { capabilities } from '@parley/protocol'
import { Connection } from './connection.js'

/** @import { AgentAdapter } from '@parley/adapter-kit' */

const agentFile = fileURLToPath(new URL('./agent.js', import.meta.url))

/**
 * Parley calls this function with `options` of config.json and with the environment of the server.
 * @param {{ options?: { agent?: string, home?: string }, env?: Readonly<Record<string, string | undefined>> }} [given]
 * @returns {AgentAdapter}
 */
export function createAdapter({ options = {}, env = process.env } = {}) {
  const { agent = agentFile, home } = options
  const start = {
    command: process.execPath,
    // The agent gets the variables that every program needs, and its own. It gets no other variables of the server.
    env: agentEnvironment({
      from: env,
      vendor: ['MY_AGENT_'],
      ...(home && { add: { MY_AGENT_HOME: home } }),
    }),
  }
  return {
    id: 'my-agent',
    name: 'My Agent',
    capabilities: capabilities('streaming', 'permissions', 'resume', 'interrupt'),
    // Parley itself implements these modes, because the agent asks before every change.
    modes: ['ask', 'accept-edits', 'read-only', 'bypass'],
    async probe(signal) {
      const { exitCode, stdout } = await runProgram({ ...start, args: [agent, '--version'], signal })
      if (exitCode !== 0) return { found: false, hint: `${agent} does not run.` }
      return { found: true, path: agent, version: stdout.trim(), signedIn: true }
    },
    async connect(session) {
      const resume = session.resume ? ['--resume', session.resume.agentSessionId] : []
      const connection = new Connection(session, { ...start, args: [agent, ...resume], cwd: session.cwd })
      await connection.ready
      return connection
    },
  }
}
