import { expect, it } from 'vitest'
import { AcpAgent, gemini } from './index.ts'
import type { NativeMessage } from './native.ts'
import { ReplayTranslator } from './translate-memory.ts'

function replayOf(...updates: { sessionUpdate: string; [field: string]: unknown }[]) {
  const translator = new ReplayTranslator(AcpAgent.parse(gemini), { id: 'ses', at: 7 })
  for (const update of updates) {
    const message: NativeMessage = { method: 'session/update', params: { sessionId: 'ses', update } }
    translator.receive({ from: 'agent', message })
  }
  return translator.end().map((one) => (one.type === 'prompt' ? one.parts : one.output))
}

const text = (words: string) => ({ content: { type: 'text', text: words } })
const user = (words: string, messageId?: string) => ({
  sessionUpdate: 'user_message_chunk',
  ...text(words),
  ...(messageId && { messageId }),
})
const agent = (words: string) => ({ sessionUpdate: 'agent_message_chunk', ...text(words) })

it('begins a turn with the prompt of the person, in one chunk or several', () => {
  expect(replayOf(user('One.', 'a'), user('And one.', 'a'), user('Two.', 'b'), agent('Yes.'))).toEqual([
    [
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'And one.' },
    ],
    [{ type: 'text', text: 'Two.' }],
    expect.objectContaining({ type: 'text.written', text: 'Yes.' }),
  ])
})

it('leaves out texts that neither the person nor the agent wrote, and updates that belong to no turn', () => {
  const commands = { sessionUpdate: 'available_commands_update', availableCommands: [] }
  const outputs = replayOf(
    agent('Welcome.'),
    user('<session_context>\nThis is the Gemini CLI.'),
    user('One.'),
    commands,
    agent('[Thought: true][Function Call: run_shell_command]'),
    user('[Function Response: run_shell_command]'),
    agent('Done.'),
  )
  expect(outputs).toEqual([
    [{ type: 'text', text: 'One.' }],
    expect.objectContaining({ type: 'text.written', text: 'Done.' }),
  ])
})

it('takes the output of a call as its result, not as its input', () => {
  const call = { toolCallId: 'run_shell_command__x', title: 'Shell', kind: 'execute', status: 'completed' }
  const content = [{ type: 'content', content: { type: 'text', text: 'parsley' } }]
  expect(replayOf(user('One.'), { sessionUpdate: 'tool_call', ...call, content })).toMatchObject([
    [{ type: 'text' }],
    { type: 'tool-call.called', name: 'run_shell_command', input: { title: 'Shell' } },
    { type: 'tool-call.ended', outcome: 'completed', content: [{ type: 'terminal', output: 'parsley' }] },
  ])
})

it('keeps images and files of a prompt, and names parts that it cannot keep', () => {
  const chunk = (content: object) => ({ sessionUpdate: 'user_message_chunk', content })
  expect(
    replayOf(
      chunk({ type: 'image', mimeType: 'image/png', data: 'AAAA' }),
      chunk({ type: 'resource', resource: { uri: 'file:///a/b.txt', text: 'sage' } }),
      chunk({ type: 'resource_link', uri: 'file:///a/c.txt', name: 'c.txt' }),
      chunk({ type: 'audio', data: 'AAAA' }),
    ),
  ).toEqual([
    [
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'file', name: 'b.txt', text: 'sage' },
      { type: 'text', text: '[resource_link: file:///a/c.txt]' },
      { type: 'text', text: '[audio]' },
    ],
  ])
})
