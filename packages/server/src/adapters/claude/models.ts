import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { query as startQuery } from '@anthropic-ai/claude-agent-sdk'
import type { AgentModel } from '@parley/protocol'
import { AgentProcess } from '../child-process.ts'
import { createInput } from './input.ts'
import { agentModel } from './introduction.ts'

const goneWaitMs = 2_000

/**
 * The models that Claude Code offers. A process is started to list them and gets no prompt. It loads no settings,
 * hooks or servers, not even the person's own, and its folder is empty.
 */
export async function modelsOfClaude(
  { env, executable }: { readonly env: Record<string, string>; readonly executable: string | undefined },
  signal: AbortSignal,
): Promise<AgentModel[]> {
  const cwd = await mkdtemp(join(tmpdir(), 'parley-models-'))
  const agent = new AgentProcess()
  const input = createInput<never>()
  const abortController = new AbortController()
  const giveUp = () => abortController.abort()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    signal.throwIfAborted()
    const query = startQuery({
      prompt: input.messages,
      options: {
        cwd,
        env,
        abortController,
        settingSources: [],
        mcpServers: {},
        strictMcpConfig: true,
        persistSession: false,
        spawnClaudeCodeProcess: agent.spawn,
        ...(executable !== undefined && { pathToClaudeCodeExecutable: executable }),
      },
    })
    const { models } = await query.initializationResult()
    return models.map(agentModel)
  } finally {
    signal.removeEventListener('abort', giveUp)
    input.end()
    agent.killAll()
    await agent.gone(goneWaitMs)
    await rm(cwd, { recursive: true, force: true })
  }
}
