import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { createCalculatorAdapter } from '../../../../examples/calculator.ts'
import { calculatorSetup } from '../../../../examples/calculator-contract.ts'
import type { AgentAdapter, AgentConnection, AgentOutput, ConnectInput, Person } from '../agent-adapter.ts'
import type { ContractSetup } from './contract/setup.ts'
import { contractCases, sentenceOf } from './contract-cases.ts'
import type { RuleName } from './rules.ts'
import { ContractFailure, runAlone } from './run-case.ts'

/** Deliberately broken adapters: the calculator, with one fault each. */
type Fault = {
  readonly adapter?: (adapter: AgentAdapter) => Partial<AgentAdapter>
  readonly connection?: (connection: AgentConnection) => Partial<AgentConnection>
  /** The outputs that an output becomes. */
  readonly output?: (output: AgentOutput) => readonly AgentOutput[]
}

function faulty({ adapter: changes, connection: faults, output }: Fault): AgentAdapter {
  const adapter = createCalculatorAdapter()
  async function* changed(events: AsyncIterable<AgentOutput>) {
    for await (const one of events) yield* output?.(one) ?? [one]
  }
  const connect = async (input: ConnectInput) => {
    const connection = await adapter.connect(input)
    const events = output ? changed(connection.events) : connection.events
    return { ...connection, events, ...faults?.(connection) }
  }
  return { ...adapter, connect, ...changes?.(adapter) }
}

const hangs = () => new Promise<never>(() => undefined)
const without = (type: AgentOutput['type']) => (output: AgentOutput) => (output.type === type ? [] : [output])
const more = (type: AgentOutput['type'], added: AgentOutput) => (output: AgentOutput) =>
  output.type === type ? [output, added] : [output]
const end: AgentOutput = { type: 'turn.ended', outcome: 'completed', stopReason: 'end_turn' }
const late: AgentOutput = { type: 'text.written', blockId: 'late', text: 'Too late.' }

const allows = (adapter: AgentAdapter): Partial<AgentAdapter> => ({
  connect: ({ person, ...input }) => {
    const permit: Person['permit'] = async (ask, signal) => {
      const { requestId } = await person.permit(ask, signal)
      return { outcome: 'allowed', requestId }
    }
    return adapter.connect({ ...input, person: { ...person, permit } })
  },
})

type Expected = {
  readonly title: string
  readonly fault?: Fault
  readonly setup?: Partial<ContractSetup>
  /** The start of the title of the case that finds the fault. */
  readonly found: string
  readonly rule: RuleName
  /** The parts of the message about the fault, and about the actions of the adapter. */
  readonly says: RegExp
  readonly did: RegExp
  readonly limitMs?: number
}

const { scenarios, capabilities } = calculatorSetup
const waited = 1_000
const text = 'a text turn completes'

const expected: readonly Expected[] = [
  {
    title: 'never ends its turn',
    fault: { output: without('turn.ended') },
    found: text,
    rule: 'one-end-of-a-turn',
    says: /waited 1 s for the end of the turn/,
    did: /send\(prompt: "Say hello"\)\n.*text\.written "The result is nothing to divide\."\nThe session: turns: 1 started, 0 ended/s,
    limitMs: waited,
  },
  {
    title: 'ends its turn twice',
    fault: { output: more('turn.ended', end) },
    found: text,
    rule: 'one-end-of-a-turn',
    says: /a `turn\.ended` came although no turn was open/,
    did: /turn\.ended completed ×2/,
  },
  {
    title: 'drops an unknown message',
    setup: { scenarios: { ...scenarios, unrecognised: { prompt: 'Say hello' } } },
    found: 'an unknown native message',
    rule: 'unknown-messages',
    says: /the native message of `agent\.unrecognised`: undefined/,
    did: /native\n.*turn\.ended completed/s,
  },
  {
    title: 'throws in send',
    fault: {
      connection: () => ({
        send: async () => {
          throw new Error('The pipe is closed.')
        },
      }),
    },
    found: text,
    rule: 'failures-are-outputs',
    says: /`send` rejected with Error: The pipe is closed\./,
    did: /send\(\) rejected: The pipe is closed\./,
  },
  {
    title: 'does not end its events when it is closed',
    fault: { connection: () => ({ close: async () => undefined }) },
    found: 'a closed connection ends its events',
    rule: 'close',
    says: /waited 1 s for the end of `events` after `close`/,
    did: /close\(\)\n.*text\.written "Waiting until I am stopped\."\n {4}turn\.ended cancelled\n/s,
    limitMs: waited,
  },
  {
    title: 'emits an output after its end',
    fault: { output: more('agent.disconnected', late) },
    found: 'a closed connection ends its events',
    rule: 'nothing-after-the-end',
    says: /text\.written came after agent\.disconnected/,
    did: /agent\.disconnected closed\n.*text\.written "Too late\."/s,
  },
  {
    title: 'leaves a call without an end',
    fault: { output: without('tool-call.ended') },
    found: 'a tool call has one end',
    rule: 'tool-calls',
    says: /the calls that the adapter has not ended before the end of the turn: \[ '.+' \]/,
    did: /tool-call\.called divide .*turn\.ended completed/s,
  },
  {
    title: 'asks before the call is recorded',
    fault: { output: without('tool-call.called') },
    found: 'permissions:',
    rule: 'requests',
    says: /`permit` was called for \S+ before its tool-call\.called was recorded/,
    did: /person\.permit\(\S+\)/,
  },
  {
    title: 'does not return from connect',
    fault: { adapter: () => ({ connect: hangs }) },
    found: text,
    rule: 'connect',
    says: /the end of the turn; connect\(\) has not returned/,
    did: /What happened:\n {2}connect\(\)\n/,
    limitMs: waited,
  },
  {
    title: 'rejects connect with another error than a ParleyError',
    fault: { adapter: () => ({ connect: () => Promise.reject(new TypeError('no such pipe')) }) },
    found: text,
    rule: 'connect',
    says: /`connect` rejected with TypeError: no such pipe/,
    did: /connect\(\) rejected: no such pipe/,
  },
  {
    title: 'throws in a probe',
    fault: { adapter: () => ({ probe: () => Promise.reject(new Error('ENOENT')) }) },
    found: 'declares the capabilities',
    rule: 'probe',
    says: /`probe` rejected with Error: ENOENT/,
    did: /probe\(\) rejected: ENOENT/,
  },
  {
    title: 'writes another text than it has streamed',
    fault: { output: (output) => [output.type === 'text.written' ? { ...output, text: 'Six.' } : output] },
    found: 'streaming:',
    rule: 'blocks',
    says: /the pieces of \S+: 'The result is nothing to divide\.' does not equal 'Six\.'/,
    did: /text\.streamed ×6\n {4}text\.written "Six\."/,
  },
  {
    title: 'makes a call that was denied',
    fault: { adapter: allows },
    found: 'a denied call has no effect',
    rule: 'denied-calls',
    says: /the content of result\.txt: '7' does not equal undefined/,
    did: /tool-call\.ended completed/,
  },
  {
    title: 'declares a capability that it does not show',
    setup: { capabilities: { ...capabilities, thinking: true } },
    found: 'thinking:',
    rule: 'declared-capabilities',
    says: /thinking is declared, but the setup has no scenario that shows it/,
    did: /What happened:\n {2}nothing/,
  },
]

it.each(expected)(
  'the failure of an adapter that $title names the rule, the fault and the page',
  async (one) => {
    const { fault = {}, found, rule, says, did, limitMs = 30_000 } = one
    const setup = { ...calculatorSetup, ...one.setup }
    const broken = contractCases(setup).find(({ title }) => title.startsWith(found))
    const world = { ...(await setup.start()), adapter: () => faulty(fault) }
    const failure = await runAlone(broken!, world, limitMs).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ContractFailure)
    const { message, ...rest } = failure as ContractFailure
    expect(rest).toMatchObject({ rule, read: `docs/adapters.md#${rule}` })
    expect(message).toMatch(`This rule of adapters is broken: ${sentenceOf(rule)}\nFound: `)
    expect(message).toMatch(says)
    expect(message).toMatch(did)
    expect(message).toMatch(new RegExp(`\nRead: docs/adapters\\.md#${rule}$`))
  },
)

it('the suite runs with node:test', () => {
  const file = new URL('./calculator-under-test.ts', import.meta.url).pathname
  const args = ['--conditions=source', '--test-reporter=tap', file]
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  const cases = contractCases(calculatorSetup)
  expect(stdout).toContain(`# pass ${cases.length}\n`)
  expect([stdout.match(/^# fail (\d+)$/m)?.[1], status]).toEqual(['0', 0])
})
