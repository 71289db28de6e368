import type { AgentOutput, ConnectInput } from '../../core/agent-adapter.ts'
import type { AppServer } from './app-server.ts'
import type { NativeThreadOpened } from './native.ts'
import { readAccount, readSkills } from './open-thread.ts'
import type { Skill } from './prompt.ts'

const compact = { name: 'compact', description: 'Shortens the conversation' }

/**
 * Reports the connection: first what is known, and the rest once Codex has sent it. Returns the skills, for use in
 * prompts.
 */
export async function introduce(
  server: AppServer,
  { cwd, trusted }: ConnectInput,
  { thread, model }: NativeThreadOpened,
  put: (output: AgentOutput) => Promise<void>,
): Promise<readonly Skill[]> {
  const loaded = trusted ? ['user', 'project'] : ['user']
  const version = server.version
  void put({ type: 'agent.connected', agentSessionId: thread.id, model, cwd, agentVersion: version, loaded })
  const [models, skills, account] = await Promise.all([
    server.models().catch(() => []),
    readSkills(server, cwd).catch(() => []),
    readAccount(server).catch(() => undefined),
  ])
  if (server.over) return skills
  const commands = [compact, ...skills.map(({ name, description = '' }) => ({ name, description }))]
  const { credential, billing } = account ?? {}
  const paid = { ...(credential !== undefined && { credential }), ...(billing && { billing }) }
  void put({ type: 'agent.connected', models, commands, ...paid })
  return skills
}
