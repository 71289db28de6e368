import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Diff, ParleyError, requestedDiffs } from '@parley/protocol'
import type { AgentAdapter, AgentConnection, AgentOutput } from '../../agent-adapter.ts'
import { expect } from '../expect.ts'
import { areAlive, ownChildren, ownDescendants } from '../own-children.ts'
import { connectInput, promptMessage, readToEnd, readUntil, silentPerson } from '../read-connection.ts'
import type { GeneralRule } from '../rules.ts'
import type { Bench } from './bench.ts'
import { play, refusalOf } from './capability-case.ts'
import { expectDeltasAddUp } from './log-rules.ts'
import type { ContractSetup, ContractWorld, NotPossible } from './setup.ts'

export type GeneralCase = {
  readonly title: string
  readonly rule: GeneralRule
  /** True if the case can run in a session that earlier cases have used. */
  readonly shared?: true
  readonly notPossible?: (setup: ContractSetup) => string | undefined
  /** The adapter to test, if it is not the agent's own. */
  readonly adapter?: (setup: ContractSetup, world: ContractWorld) => AgentAdapter
  shows(bench: Bench, setup: ContractSetup): Promise<void>
}

/** The cases for every agent, whatever capabilities it declares. */
export const generalCases: readonly GeneralCase[] = [
  {
    title: 'declares the capabilities of the setup, and is found',
    rule: 'declared-capabilities',
    async shows(bench, setup) {
      const adapter = bench.newAdapter()
      expect(adapter.capabilities).toEqual(setup.capabilities)
      const [reported] = await bench.host.agents()
      expect(reported?.capabilities).toEqual(setup.capabilities)
      expect(await adapter.probe(AbortSignal.timeout(10_000))).toMatchObject({ found: true })
    },
  },
  {
    title: 'every process that a probe started has ended when the probe is over or cancelled',
    rule: 'probe',
    async shows(bench) {
      const before = ownChildren()
      await bench.newAdapter().probe(AbortSignal.timeout(10_000))
      expect(ownChildren().filter((pid) => !before.includes(pid))).toEqual([])
      const giveUp = new AbortController()
      const looking = bench.newAdapter().probe(giveUp.signal)
      giveUp.abort()
      await looking
      expect(ownChildren().filter((pid) => !before.includes(pid))).toEqual([])
    },
  },
  {
    title: 'a text turn completes, and the agent reports its connection',
    rule: 'connected',
    shared: true,
    async shows(bench, { scenarios: { text }, capabilities }) {
      const { session, turn } = await play(bench, text)
      expect(turn.said, 'the text of the turn').toContain(text.says)
      const state = await bench.host.state(session.id)
      expect(state.connected).toBe(true)
      if (capabilities.modes) expect(state.effective.mode).toBe('ask')
      if (capabilities.resume) expect(state.connection?.agentSessionId).toBeTypeOf('string')
    },
  },
  {
    title: 'the deltas of a block add up to the block',
    rule: 'blocks',
    shared: true,
    async shows(bench, { scenarios: { text } }) {
      const { session } = await play(bench, text)
      expectDeltasAddUp(session.events, session.deltas)
      expect(session.all('text.written')).not.toEqual([])
    },
  },
  {
    title: 'a second turn uses the connection of the first, and ids are never reused',
    rule: 'connected',
    shared: true,
    async shows(bench, { scenarios: { text } }) {
      const { session } = await play(bench, text)
      const { connection } = await bench.host.state(session.id)
      await (await session.prompt(text.prompt)).completed()
      expect(connection?.connectionId).toBeTypeOf('string')
      expect((await bench.host.state(session.id)).connection?.connectionId).toBe(connection?.connectionId)
      const ids = session.all('text.written').map((event) => event.blockId)
      expect(new Set(ids).size).toBe(ids.length)
    },
  },
  {
    title: 'native messages can be followed',
    rule: 'native-messages',
    shared: true,
    async shows(bench, { scenarios: { text } }) {
      const { session } = await play(bench, text)
      expect(session.natives, 'the native messages').not.toEqual([])
    },
  },
  {
    title: 'a tool call has one end',
    rule: 'tool-calls',
    shared: true,
    notPossible: ({ scenarios }) => reason(scenarios.toolCall),
    async shows(bench, { scenarios: { toolCall } }) {
      const { turn } = await play(bench, possible(toolCall))
      const called = turn.all('tool-call.called').map((event) => event.toolCallId)
      expect(called, 'the calls of the turn').not.toEqual([])
      const { endedCalls } = bench.witness
      const open = called.filter((id) => !endedCalls.has(id))
      expect(open, 'the calls that the adapter has not ended before the end of the turn').toEqual([])
    },
  },
  {
    title: 'the result of a tool call that comes after the end of its turn becomes one notice',
    rule: 'tool-calls',
    notPossible: ({ scenarios }) => reason(scenarios.toolCall),
    adapter: (_, world) => withLateResults(world.adapter()),
    async shows(bench, { scenarios: { toolCall, text } }) {
      const { session, turn } = await play(bench, possible(toolCall))
      await (await session.prompt(text.prompt)).completed()
      const called = turn.all('tool-call.called')
      expect(called).not.toEqual([])
      const notices = session.all('agent.noticed').filter(({ code }) => code === 'late-result')
      expect(notices.map(({ data }) => (data as { toolCallId: string }).toolCallId).sort()).toEqual(
        called.map(({ toolCallId }) => toolCallId).sort(),
      )
      expect(session.all('tool-call.called')).toEqual(called)
      expect(session.all('agent.unrecognised')).toEqual([])
    },
  },
  {
    title: 'a denied call has no effect',
    rule: 'denied-calls',
    shared: true,
    notPossible: ({ capabilities }) => (capabilities.permissions ? undefined : 'it asks for no permission'),
    async shows(bench, { scenarios: { permissions } }) {
      if (!permissions) throw new Error('this case needs the scenario "permissions"')
      const session = await bench.session(permissions.session)
      const turn = await session.prompt(permissions.prompt)
      await turn.decide(await turn.asked(), 'deny')
      await turn.ended()
      const { path } = permissions.effect
      expect(await bench.file(path), `the content of ${path}`).toBeUndefined()
      expect(
        turn.all('tool-call.ended').map((event) => event.outcome),
        'the ends of calls',
      ).toContain('denied')
    },
  },
  {
    title: 'a change of a file is shown to a person as a diff, and is made after the answer',
    rule: 'diffs',
    shared: true,
    notPossible: ({ capabilities, scenarios }) =>
      capabilities.permissions ? reason(scenarios.edit) : 'it asks for no permission',
    async shows(bench, { scenarios }) {
      const { prompt, session: settings } = possible(scenarios.edit)
      const file = join(bench.folder, 'poem.txt')
      await writeFile(file, 'one\ntwo\nthree\n')
      const session = await bench.session(settings)
      const turn = await session.prompt(prompt(bench.folder))
      let ask = await turn.asked()
      while (ask.kind !== 'edit') {
        await turn.decide(ask, 'allow')
        ask = await turn.asked()
      }
      const diffs = requestedDiffs(ask)
      expect(diffs.map(({ path }) => resolve(bench.folder, path))).toEqual([file])
      expect(diffs.map(changedLines)).toEqual([['-two', '+2']])
      expect(await bench.file('poem.txt')).toBe('one\ntwo\nthree\n')
      await turn.decide(ask, 'allow')
      await turn.completed()
      expect(await bench.file('poem.txt')).toBe('one\n2\nthree\n')
    },
  },
  {
    title: 'a cancelled turn ends as cancelled, and the next one runs',
    rule: 'cancel',
    shared: true,
    async shows(bench, { scenarios: { busy, text } }) {
      const session = await bench.session(busy.session)
      const turn = await session.prompt(busy.prompt)
      await turn.begun()
      await session.command({ type: 'turn.cancel' })
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      await (await session.prompt(text.prompt)).completed()
    },
  },
  {
    title: 'a running turn ends when the server stops',
    rule: 'close',
    async shows(bench, { scenarios: { busy } }) {
      const session = await bench.session(busy.session)
      const turn = await session.prompt(busy.prompt)
      await turn.begun()
      await bench.restart()
      await session.listen()
      expect((await turn.ended()).outcome).not.toBe('completed')
      expect((await bench.host.state(session.id)).status).toBe('idle')
    },
  },
  {
    title: 'a crash ends the turn as failed, and the next prompt connects again',
    rule: 'crash',
    notPossible: ({ scenarios }) => reason(scenarios.crash),
    async shows(bench, { scenarios: { crash, text } }) {
      const { prompt, session: settings, kill } = possible(crash)
      const session = await bench.session(settings)
      const turn = await session.prompt(prompt)
      if (kill) {
        await turn.begun()
        await kill()
      }
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
      expect(session.all('agent.disconnected')).toMatchObject([{ reason: 'crashed' }])
      await (await session.prompt(text.prompt)).completed()
    },
  },
  {
    title: 'an unknown native message is recorded unchanged',
    rule: 'unknown-messages',
    notPossible: ({ scenarios }) => reason(scenarios.unrecognised),
    async shows(bench, { scenarios: { unrecognised } }) {
      const { session } = await play(bench, possible(unrecognised))
      const [passed] = session.all('agent.unrecognised')
      expect(passed?.native, 'the native message of `agent.unrecognised`').toBeDefined()
    },
  },
  {
    title: 'two connections at once share nothing',
    rule: 'isolation',
    shared: true,
    async shows(bench, { scenarios: { text, busy }, capabilities }) {
      const stuck = await bench.session(busy.session)
      const turn = await stuck.prompt(busy.prompt)
      await turn.begun()
      const { session, turn: other } = await play(bench, text)
      expect(other.said).toContain(text.says)
      expect(turn.said).not.toContain(text.says)
      expect(stuck.all('turn.ended')).toEqual([])
      const ids = [session, stuck].map(
        async ({ id }) => (await bench.host.state(id)).connection?.agentSessionId,
      )
      if (capabilities.resume) expect(new Set(await Promise.all(ids)).size).toBe(2)
      await stuck.command({ type: 'turn.cancel' })
      await turn.ended()
    },
  },
  {
    title: 'an agent that cannot start is refused with a code, at the port and at the host',
    rule: 'connect',
    adapter: ({ scenarios }) => scenarios.unstartable.adapter(),
    async shows(bench, { scenarios: { text, unstartable } }) {
      const refusal = await refusalOf(unstartable.adapter().connect(connectInput({ cwd: bench.folder })))
      expect(refusal instanceof ParleyError, '`connect` rejects with a ParleyError').toBe(true)
      expect(refusal).toMatchObject({ code: unstartable.code })
      const known = unstartable.adapter().refusal?.()
      if (known) {
        expect(known).toMatchObject({ code: unstartable.code })
        expect(await refusalOf(bench.session()), 'the refusal of a session').toMatchObject({
          code: unstartable.code,
        })
        return
      }
      const session = await bench.session()
      const turn = await session.prompt(text.prompt)
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: unstartable.code } })
    },
  },
  {
    title: 'a closed connection ends its events, however often it is closed',
    rule: 'close',
    async shows(bench, { scenarios: { busy } }) {
      const input = connectInput({ cwd: bench.folder, person: silentPerson })
      const connection = await bench.newAdapter().connect(input)
      await connection.send(promptMessage(busy.prompt))
      await begun(bench, connection)
      const rest = readToEnd(connection)
      await Promise.all([connection.close(), connection.close()])
      await connection.close()
      await connection.interrupt()
      const outputs = await bench.witness.waiting('the end of `events` after `close`', 'close', rest)
      expect(outputs.at(-1)?.type, 'the last output').toBe('agent.disconnected')
    },
  },
  {
    title: 'a connection that is killed in a turn ends its events, and none of its processes is left',
    rule: 'kill',
    async shows(bench, { scenarios: { busy } }) {
      const others = ownChildren()
      const input = connectInput({ cwd: bench.folder, person: silentPerson })
      const connection = await bench.newAdapter().connect(input)
      await connection.send(promptMessage(busy.prompt))
      await begun(bench, connection)
      const started = ownDescendants(others)
      const rest = readToEnd(connection)
      if (connection.kill) connection.kill()
      else await connection.close()
      await bench.poll('the processes of the agent to end', 'kill', () => !areAlive(started))
      const outputs = await bench.witness.waiting('the end of `events` after `kill`', 'kill', rest)
      expect(outputs.filter(({ type }) => type === 'turn.ended')).toEqual([])
      await connection.close()
      expect(ownDescendants(others)).toEqual([])
    },
  },
]

/** Reads a connection up to the first output of a turn. */
function begun({ witness }: Bench, connection: AgentConnection): Promise<unknown> {
  const isFirst = ({ type }: AgentOutput) => /^(text|thinking|tool-call)\./.test(type)
  return witness.waiting('the first output of the turn', undefined, readUntil(connection, isFirst))
}

function reason(scenario: object | NotPossible): string | undefined {
  return 'notPossible' in scenario ? scenario.notPossible : undefined
}

function possible<Shown extends object>(scenario: Shown | NotPossible): Shown {
  if ('notPossible' in scenario) throw new Error(scenario.notPossible)
  return scenario
}

/** Wraps an adapter so that the results of a turn's tool calls are reported after the turn, and twice. */
function withLateResults(adapter: AgentAdapter): AgentAdapter {
  async function* late(outputs: AsyncIterable<AgentOutput>): AsyncGenerator<AgentOutput> {
    const results: AgentOutput[] = []
    for await (const output of outputs) {
      if (output.type === 'tool-call.ended') results.push(output)
      else yield output
      if (output.type !== 'turn.ended') continue
      for (const result of results.splice(0)) yield* [result, result]
    }
  }
  return {
    ...adapter,
    async connect(input) {
      const connection = await adapter.connect(input)
      return {
        events: late(connection.events),
        send: (message) => connection.send(message),
        interrupt: () => connection.interrupt(),
        configure: (settings) => connection.configure(settings),
        close: () => connection.close(),
      }
    },
  }
}

/** The lines that a diff removes and adds, each with its sign. */
function changedLines({ patch, before, after }: Diff): string[] {
  const all = (sign: string, text: string | null | undefined) =>
    (text ?? '').split('\n').map((line) => `${sign}${line}`)
  const lines = patch === undefined ? [...all('-', before), ...all('+', after)] : patch.split('\n')
  const isHeader = (line: string) => line.startsWith('---') || line.startsWith('+++')
  return lines.filter((line) => /^[-+]/.test(line) && !isHeader(line))
}
