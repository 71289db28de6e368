import { createInterface } from 'node:readline'

/**
 * An ACP agent that misbehaves in ways that a test cannot force on a real agent. The variable `ODD` or the first word
 * of a prompt selects the behaviour. It is a separate program, so it imports none of our code.
 */
type Message = { id?: number | string; method?: string; params?: Record<string, unknown>; result?: unknown }

const manner = process.env.ODD ?? ''
const waiting = new Map<number, (result: unknown) => void>()
let asked = 0

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function update(sessionUpdate: string, fields: object): void {
  say({ method: 'session/update', params: { sessionId: 'odd', update: { sessionUpdate, ...fields } } })
}

function text(words: string): void {
  update('agent_message_chunk', { content: { type: 'text', text: words } })
}

function ask(method: string, params: object): { id: number; answer: Promise<unknown> } {
  const id = ++asked
  say({ id, method, params: { sessionId: 'odd', ...params } })
  return { id, answer: new Promise((resolve) => waiting.set(id, resolve)) }
}

const call = (fields: object) => ({
  toolCallId: `call${++asked}`,
  title: 'touch it',
  kind: 'execute',
  ...fields,
})
const command = { rawInput: { command: 'touch it' } }

/** The reactions to a prompt, by its first word. The turn ends when the function resolves. */
const reactions: Record<string, (rest: string) => unknown> = {
  update: () => update('hologram_update', { image: 'x' }),
  method: () => say({ method: '_odd/greeting', params: { words: 'hello' } }),
  garbage: (count) => {
    for (let line = 0; line < Number(count); line++) process.stdout.write(`this is line ${line}\n`)
  },
  stderr: (size) =>
    new Promise<void>((resolve) => {
      process.stderr.write(`${'x'.repeat(Number(size))}\nthe last words\n`, () => resolve())
    }),
  choice: async () => {
    const options = [
      { optionId: 'a', name: 'Approve gently', kind: 'approve_gently' },
      { optionId: 'b', name: 'Approve harshly', kind: 'approve_harshly' },
    ]
    const { answer } = ask('session/request_permission', { toolCall: call(command), options })
    text(`You chose ${JSON.stringify(await answer)}`)
  },
  plan: async (file) => {
    const options = [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }]
    const toolCall = call({ kind: 'switch_mode', title: `Plan in ${file}` })
    const { answer } = ask('session/request_permission', { toolCall, options })
    text(`You chose ${JSON.stringify(await answer)}`)
  },
  always: async () => {
    const options = [
      { optionId: 'never', name: 'Never', kind: 'reject_always' },
      { optionId: 'always', name: 'Always', kind: 'allow_always' },
    ]
    const { answer } = ask('session/request_permission', { toolCall: call(command), options })
    text(`You chose ${JSON.stringify(await answer)}`)
  },
  form: async () => {
    const properties = { name: { type: 'string', title: 'Name' }, sure: { type: 'boolean', title: 'Sure?' } }
    const requestedSchema = { type: 'object', properties, required: ['name', 'sure'] }
    const { answer } = ask('elicitation/create', { mode: 'form', message: 'Who are you?', requestedSchema })
    text(`You said ${JSON.stringify(await answer)}`)
  },
  withdraw: async () => {
    const options = [{ optionId: 'a', name: 'Yes', kind: 'allow_once' }]
    const { id, answer } = ask('session/request_permission', { toolCall: call(command), options })
    await ask('elicitation/create', { mode: 'form', message: 'Take it back?' }).answer
    say({ method: '$/cancel_request', params: { requestId: id } })
    text(`You said ${JSON.stringify(await answer)}`)
  },
  write: async (path) => {
    const { answer } = ask('fs/write_text_file', { path, content: 'written\n' })
    text(`The answer: ${JSON.stringify(await answer)}`)
  },
  read: async (path) => {
    const { answer } = ask('fs/read_text_file', { path })
    text(`The answer: ${JSON.stringify(await answer)}`)
  },
  /** Asks for one change of a file, makes it, and then makes another change without asking. */
  edit: async (path) => {
    const content = [{ type: 'diff', path, oldText: null, newText: 'as shown\n' }]
    const toolCall = call({ title: 'Edit it', kind: 'edit', content, locations: [{ path }] })
    const options = [{ optionId: 'a', name: 'Yes', kind: 'allow_once' }]
    await ask('session/request_permission', { toolCall, options }).answer
    for (const words of ['as shown\n', 'not as shown\n']) {
      const { answer } = ask('fs/write_text_file', { path, content: words })
      text(`The answer: ${JSON.stringify(await answer)}`)
    }
    update('tool_call_update', { toolCallId: toolCall.toolCallId, status: 'completed' })
  },
  /** Asks permission for the change that the prompt describes, but does not make the change. */
  change: async (fields) => {
    const toolCall = call({ title: 'Change it', kind: 'edit', ...(JSON.parse(fields) as object) })
    const options = [
      { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
      { optionId: 'no', name: 'No', kind: 'reject_once' },
    ]
    const { answer } = ask('session/request_permission', { toolCall, options })
    text(`You chose ${JSON.stringify(await answer)}`)
  },
  terminal: async () => {
    const { answer } = ask('terminal/create', { command: 'touch', args: ['it'] })
    text(`The answer: ${JSON.stringify(await answer)}`)
  },
  unasked: async () => {
    const running = call({ ...command, status: 'in_progress' })
    update('tool_call', running)
    await received('session/cancel')
    update('tool_call_update', { toolCallId: running.toolCallId, status: 'failed' })
    return 'cancelled'
  },
  mode: async () => {
    update('current_mode_update', { currentModeId: 'wild' })
    await received('session/set_mode')
  },
  /** Ends its turn when it is steered, and ignores the steered prompt. */
  deaf: async () => {
    text('I do not listen.')
    await received('_session/steering')
  },
  die: () => process.exit(7),
}

const listeners = new Map<string, () => void>()

/** Resolves when a message with this method arrives. */
function received(what: string): Promise<void> {
  return new Promise((resolve) => listeners.set(what, resolve))
}

async function answerPrompt(id: Message['id'], params: Record<string, unknown>): Promise<void> {
  const [{ text: words = '' } = {}] = params.prompt as { text?: string }[]
  const [, word = '', rest = ''] = /^(\w+)(?: (.*))?/.exec(words) ?? []
  const stopReason = (await reactions[word]?.(rest)) ?? 'end_turn'
  text('Done.')
  say({ id, result: { stopReason } })
}

const abilities: Record<string, object> = {
  forgetful: { loadSession: true, sessionCapabilities: { list: {} } },
  absent: { loadSession: true, sessionCapabilities: { list: {} } },
  nobody: { _meta: { authStatus: {} } },
  somebody: { _meta: { authStatus: {} } },
}
const authStatus: Record<string, object> = {
  nobody: { kind: 'none', label: 'Not logged in' },
  somebody: { kind: 'account', label: 'A friend' },
}
let signedIn = false
const modes = { currentModeId: 'tame', availableModes: [{ id: 'tame', name: 'Tame' }] }

function answer({ id, method, params = {} }: Message): void {
  switch (method) {
    case 'initialize':
      if (manner === 'slow') return
      if (manner === 'noisy') process.stdout.write('Welcome to the odd agent!\n')
      return say({
        id,
        result: {
          protocolVersion: manner === 'version' ? 9 : 1,
          authMethods: [{ id: 'key', name: 'A key' }],
          agentCapabilities: abilities[manner] ?? {},
        },
      })
    case 'authenticate':
      signedIn = params.methodId === 'key'
      return say({ id, result: {} })
    case 'session/load':
      return say({ id, error: { code: -32002, message: 'Resource not found' } })
    case 'session/list':
      return say({ id, result: { sessions: manner === 'absent' ? [{ sessionId: 'kept', cwd: '/' }] : [] } })
    case 'session/new':
      if (manner === 'unsigned' && !signedIn)
        return say({ id, error: { code: -32000, message: 'Authentication required' } })
      if (manner === 'short') process.exit(3)
      say({ id, result: { sessionId: 'odd', modes } })
      if (authStatus[manner])
        say({ method: '_auth/status_update', params: { authStatus: authStatus[manner] } })
      return
    case 'session/prompt':
      return void answerPrompt(id, params)
    case '_session/steering':
      return say({ id, result: { outcome: 'promptRequired' } })
    default:
      if (id !== undefined) say({ id, result: {} })
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Message
  const { id, method, result } = message
  if (method === undefined) return waiting.get(Number(id))?.(result ?? message)
  listeners.get(method)?.()
  answer(message)
})
process.stdin.on('end', () => process.exit(0))
