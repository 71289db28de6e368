import { type Bench, onBench } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { createCodexAdapter } from './index.ts'

const home = await AgentHome.forFile({ answers: 'script' })

const call = (id: string, name: string, input: object): ModelAnswer => ({
  toolCalls: [{ name, id, arguments: JSON.stringify(input) }],
})
const done: ModelAnswer = { content: 'That is done.' }

async function play(work: (bench: Bench) => Promise<void>): Promise<void> {
  const env = home.env('codex')
  const adapter = () => createCodexAdapter({ env, agentsFolder: testAgentsFolder() })
  await onBench({ adapter, host: contractHost }, adapter(), work)
}

/** The output of this call in the last request to the model. */
function modelInput(callId: string): string {
  const input = (home.model.calls.at(-1)?.body?.input ?? []) as { call_id?: string; output?: string }[]
  return input.find((item) => item.call_id === callId && item.output !== undefined)?.output ?? ''
}

it('starts no command in a terminal, and does not offer one', async () => {
  const input = { cmd: 'read line; echo "$line" > note.txt', tty: true }
  home.model.script(() => true, [{ response: call('a', 'exec_command', input) }, { response: done }])
  await play(async (bench) => {
    const turn = await (await bench.session({ mode: 'bypass' })).prompt('Type.')
    await turn.completed()
    expect(modelInput('a')).toContain('TTY execution is disabled')
    expect(turn.all('tool-call.called')).toEqual([])
    expect(await bench.file('note.txt')).toBeUndefined()
    type Tool = { name?: string; parameters?: { properties: object } }
    const tools = (home.model.calls.at(-1)?.body?.tools ?? []) as Tool[]
    const { parameters } = tools.find(({ name }) => name === 'exec_command') ?? {}
    expect(Object.keys(parameters?.properties ?? {})).toContain('cmd')
    expect(Object.keys(parameters?.properties ?? {})).not.toContain('tty')
  })
})

it('accepts no input for a running command', async () => {
  const cmd = 'echo begun; until [ -e go ]; do sleep 0.05; done; cat > note.txt; echo ended'
  const session_id = () => Number(/session ID (\d+)/.exec(modelInput('a'))?.[1])
  const type = () => call('b', 'write_stdin', { session_id: session_id(), chars: 'rm -rf .\n' })
  const wait = () => call('d', 'write_stdin', { session_id: session_id(), chars: '', yield_time_ms: 30_000 })
  home.model.script(
    () => true,
    [
      { response: call('a', 'exec_command', { cmd, yield_time_ms: 250 }) },
      { response: type },
      { response: call('c', 'exec_command', { cmd: 'touch go' }) },
      { response: wait },
      { response: done },
    ],
  )
  await play(async (bench) => {
    const session = await bench.session({ mode: 'bypass' })
    const turn = await session.prompt('Type.')
    await turn.completed()
    expect(modelInput('a')).toContain('running with session ID')
    expect(modelInput('b')).toContain('stdin is closed')
    expect(await bench.file('note.txt')).toBe('')
    expect(session.all('agent.noticed').map(({ code }) => code)).not.toContain('terminal-input')
    expect(turn.all('tool-call.ended')).toHaveLength(2)
    expect(turn.all('tool-call.ended').find(({ toolCallId }) => toolCallId === 'a')).toMatchObject({
      outcome: 'completed',
      content: [{ type: 'terminal', output: 'begun\nended\n', exitCode: 0 }],
    })
  })
})
