import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Remembered } from '@parley/adapter-kit'
import { BenchSession, childrenWith, connectInput } from '@parley/adapter-kit/testing'
import { describe, expect, it, onTestFailed, vi } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { hostWith, importOnce } from '../../testing/imported-conversation.ts'
import { logProblems } from '../../testing/invariants.ts'
import { call } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { claudeAcp, createAcpAdapter, gemini } from './index.ts'
import { alive } from './processes-under-test.ts'

/** Tests conversations that a person had in the agent's own program in a terminal, without Parley. */

const home = await AgentHome.forFile()
const agentsFolder = testAgentsFolder()

const agents = {
  gemini: {
    env: () => home.env('gemini'),
    adapter: () => createAcpAdapter(gemini, { env: agents.gemini.env(), agentsFolder }),
    program: () => join(agentsFolder, 'gemini/node_modules/.bin/gemini'),
    unasked: ['--yolo', '--skip-trust'],
    command: 'run_shell_command',
    running: 'bin/gemini',
  },
  'claude-acp': {
    env: () => home.env('claude'),
    adapter: () => createAcpAdapter(claudeAcp, { env: agents['claude-acp'].env(), agentsFolder }),
    program: () => claudeProgram(),
    unasked: ['--allowedTools', 'Bash'],
    command: 'Bash',
    running: 'claude-agent-acp',
  },
}
type AgentName = keyof typeof agents

/** The Claude Code program for this platform from the dependencies of claude-agent-acp. */
function claudeProgram(): string {
  const folder = join(agentsFolder, 'claude-acp/node_modules/@anthropic-ai')
  const name = readdirSync(folder).find((one) => one.startsWith('claude-agent-sdk-')) ?? ''
  return join(folder, name, 'claude')
}

async function inTerminal(name: AgentName, cwd: string, args: readonly string[]): Promise<string> {
  const { env, program } = agents[name]
  const run = promisify(execFile)(program(), [...args], { cwd, env: { ...env(), ...nodeFirst } })
  run.child.stdin?.end()
  return (await run).stdout
}

const nodeFirst = { PATH: `${join(process.execPath, '..')}:${process.env.PATH}` }

describe.each(Object.keys(agents) as AgentName[])('%s', { timeout: 90_000 }, (name) => {
  const { command, unasked, running } = agents[name]
  const noProcessLeft = () => vi.waitFor(() => expect(alive(childrenWith(running))).toEqual([]), 5_000)
  const look = { reasoning: 'Herbs.', ...call(command, { command: 'echo parsley', description: 'look' }) }
  const herbs = modelPrompt('Look at the herbs.', look, { content: 'I see parsley.' })

  // The first two tests share one conversation. If a test fails, the next test creates a new conversation.
  let talked: Promise<string> | undefined
  const conversationFolder = () => {
    onTestFailed(() => {
      talked = undefined
    })
    talked ??= (async () => {
      const cwd = home.folder('project')
      await inTerminal(name, cwd, ['-p', herbs, ...unasked])
      return cwd
    })()
    return talked
  }

  it('keeps a conversation that is repeatedly read and resumed without a prompt', async () => {
    const cwd = await conversationFolder()
    const { conversations, connect } = agents[name].adapter()
    const signal = AbortSignal.timeout(80_000)
    const [{ agentSessionId = '' } = {}] = (await conversations?.list({ cwd }, signal)) ?? []
    const read = async () => {
      const remembered: Remembered[] = []
      for await (const one of conversations?.read(agentSessionId, signal) ?? []) remembered.push(one)
      return remembered.map((one) => (one.type === 'prompt' ? one.parts : one.output))
    }
    const first = await read()
    expect(first).toContainEqual(expect.objectContaining({ type: 'text.written', text: 'I see parsley.' }))
    for (let round = 0; round < 2; round++) {
      const resume = { agentSessionId, turns: 1 }
      const connection = await connect(connectInput({ cwd, resume, connectionId: `con${round}` }))
      await connection.close()
    }
    expect(await read()).toEqual(first)
    await noProcessLeft()
  })

  it('lists a conversation of its terminal program, imports it once, and resumes it', async () => {
    const cwd = await conversationFolder()
    {
      await using host = await hostWith(agents[name].adapter())
      const [found, ...others] = await host.conversations(name, { cwd })
      expect(others).toEqual([])
      expect(found).toMatchObject({ cwd, title: expect.stringContaining('Look at the herbs.') })
      expect(await host.conversations(name, { cwd: home.path })).toEqual([])

      const { state, agentSessionId, log, all } = await importOnce(host, name, cwd)
      expect(log.map(({ type }) => type).filter((type) => type !== 'thinking.written')).toEqual([
        'session.created',
        'agent.connected',
        'prompt.submitted',
        'turn.started',
        'tool-call.called',
        'tool-call.ended',
        'text.written',
        'turn.ended',
        'agent.disconnected',
      ])
      expect(all('tool-call.called')).toMatchObject([{ name: command, kind: 'execute' }])
      expect(all('tool-call.ended')).toMatchObject([
        { outcome: 'completed', content: [{ type: 'terminal', output: expect.stringContaining('parsley') }] },
      ])
      expect(all('text.written')).toMatchObject([{ text: 'I see parsley.' }])

      const session = await BenchSession.follow(() => host, state.id)
      const turn = await session.prompt(modelPrompt('What was it?', { say: 'history' }))
      await turn.completed()
      expect(turn.said).toContain('Look at the herbs.')
      expect(logProblems(session.events)).toEqual([])
      const { terminal = [] } = await host.detail(state.id, 10)
      expect(terminal.at(-1)).toBe(agentSessionId)
      await host.close()
      const again = modelPrompt('And in the terminal?', { say: 'history' })
      const said = await inTerminal(name, cwd, [...terminal.slice(1), '-p', again, ...unasked])
      expect(said).toContain('What was it?')
    }
    await noProcessLeft()
  })

  it('reports an unknown conversation as not found', async () => {
    await using host = await hostWith(agents[name].adapter())
    const refused = host.importConversation({ agent: name, agentSessionId: 'no-such-id' })
    await expect(refused).rejects.toMatchObject({ code: 'not_found' })
    const unknown = agents[name].adapter().conversations?.read('no-such-id', AbortSignal.timeout(20_000))
    const read = async () => {
      for await (const _ of unknown ?? []) throw new Error('something was remembered')
    }
    await expect(read()).rejects.toMatchObject({ code: 'not_found' })
    await noProcessLeft()
  })
})
