import { AGENT_METHODS, CLIENT_METHODS, PROTOCOL_METHODS } from '@agentclientprotocol/sdk/unstable'
import { expect, it } from 'vitest'
import { stateFor } from './fixtures-under-test.ts'
import { clientMethods, ignoredUpdates, notOffered, type UpdateKey } from './native.ts'
import { handlers, translate } from './translate.ts'

/** Every update of the protocol in its smallest form. An extra or a missing key does not compile. */
const every: Record<UpdateKey, object> = {
  user_message_chunk: { content: { type: 'text', text: 'a' } },
  agent_message_chunk: { content: { type: 'text', text: 'a' } },
  agent_thought_chunk: { content: { type: 'text', text: 'a' } },
  tool_call: { toolCallId: 'a', title: 'A' },
  tool_call_update: { toolCallId: 'a' },
  plan: { entries: [] },
  plan_update: { plan: { type: 'items', planId: 'p', entries: [] } },
  plan_removed: { planId: 'p' },
  available_commands_update: { availableCommands: [] },
  current_mode_update: { currentModeId: 'default' },
  config_option_update: { configOptions: [] },
  session_info_update: { title: 'A' },
  usage_update: { used: 1, size: 2 },
  notice: { severity: 'info', title: 'A' },
  compaction_update: { compactionId: 'c', status: 'in_progress' },
  compaction_summary_chunk: { compactionId: 'c', content: { type: 'text', text: 'a' } },
  subagent_update: { subagentId: 's' },
  session_message: { messageId: 'm' },
  session_message_chunk: { messageId: 'm' },
}

/** The methods that Parley calls on agents, and those that it does not. */
const agentMethods = {
  initialize: 'the first request',
  authenticate: 'if the agent requires a sign-in and the environment has a variable for one of its methods',
  'session/new': 'starts a conversation',
  'session/load': 'resumes a session; its replay is recorded only when it is imported',
  'session/resume': 'resumes a session, if the agent cannot load it',
  'session/fork': 'starts with a copy of another conversation',
  'session/prompt': 'starts a turn',
  'session/cancel': 'stops the turn',
  'session/set_mode': 'sets the mode',
  'session/set_config_option': 'sets the model, the effort, and the mode where that is an option',
  'session/close': 'before an idle process is closed',
  'session/list':
    'lists what can be imported, and shows whether the agent still has a conversation that it could not load',
  'session/delete': 'left out: the person owns the conversation that the agent stores',
  'session/archive': 'left out: sessions are archived in the host',
  'session/unarchive': 'left out: sessions are archived in the host',
  'session/set_title': 'left out: the host has titles of its own',
  'session/status': 'left out: the host knows whether a turn runs',
  logout: 'left out: people sign in and out with the program itself',
  'auth/status': 'left out: agents report it by themselves, or when a session is created',
  'providers/list': 'left out: which service an agent uses is set in the agent',
  'providers/set': 'left out: which service an agent uses is set in the agent',
  'providers/disable': 'left out: which service an agent uses is set in the agent',
  'mcp/message': 'left out: MCP servers are given by their command or address',
} as const satisfies Record<(typeof AGENT_METHODS)[keyof typeof AGENT_METHODS], string>

const update = (sessionUpdate: string, fields: object) => ({
  from: 'agent' as const,
  message: { method: 'session/update', params: { sessionId: 's', update: { sessionUpdate, ...fields } } },
})
const unrecognised = (outputs: readonly { type: string }[]) =>
  outputs.filter(({ type }) => type === 'agent.unrecognised')

it('has the 19 updates of the protocol', () => {
  expect(Object.keys(every)).toHaveLength(19)
})

it.each(Object.entries(every))('handles, ignores or records the update %s, with a reason', (key, fields) => {
  const places = [handlers, ignoredUpdates, notOffered].filter((list) => key in list)
  expect(places).toHaveLength(1)
  const { outputs } = translate(stateFor('claude'), update(key, fields))
  expect(unrecognised(outputs)).toHaveLength(key in notOffered ? 1 : 0)
  if (key in ignoredUpdates) expect(outputs).toEqual([])
})

it('lists how every method of the protocol is handled', () => {
  const asked = [...Object.values(CLIENT_METHODS), ...Object.values(PROTOCOL_METHODS)]
  expect(Object.keys(clientMethods).toSorted()).toEqual(asked.toSorted())
  expect(Object.keys(agentMethods).toSorted()).toEqual(Object.values(AGENT_METHODS).toSorted())
  for (const reason of Object.values({ ...clientMethods, ...agentMethods })) expect(reason).toMatch(/\w+/)
})

it.each([
  ['an unknown update', update('hologram_update', { image: 'x' })],
  ['an unknown method', { from: 'agent' as const, message: { method: 'session/hologram' } }],
  ['a response to no request', { from: 'agent' as const, message: { id: 77, result: {} } }],
  ['a message that is not an object', { from: 'agent' as const, message: 'hello' as never }],
  ['an update without its content', update('agent_message_chunk', {})],
])('records %s unchanged', (_, frame) => {
  const { outputs, state } = translate(stateFor('claude'), frame)
  expect(outputs).toMatchObject([{ type: 'agent.unrecognised', native: frame.message }])
  expect(state).toEqual(stateFor('claude'))
})
