import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { AgentAdapter, AgentOutput } from '@parley/adapter-kit'
import { type Diff, ParleyError, requestedDiffs } from '@parley/protocol'
import { areAlive, ownChildren, ownDescendants } from '../own-children.ts'
import { expect } from '../peers.ts'
import { connectInput, promptMessage, readToEnd, readUntil, silentPerson } from '../read-connection.ts'
import type { Bench } from './bench.ts'
import { play, refusalOf } from './capability-case.ts'
import { expectDeltasAddUp } from './log-rules.ts'
import type { ContractSetup, ContractWorld, NotPossible } from './setup.ts'

export type GeneralCase = {
  readonly title: string
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
    shared: true,
    async shows(bench, { scenarios: { text }, capabilities }) {
      const { session, turn } = await play(bench, text)
      expect(turn.said).toContain(text.says)
      const state = await bench.host.state(session.id)
      expect(state.connected).toBe(true)
      if (capabilities.modes) expect(state.effective.mode).toBe('ask')
      if (capabilities.resume) expect(state.connection?.agentSessionId).toBeTypeOf('string')
    },
  },
  {
    title: 'the deltas of a block add up to the block',
    shared: true,
    async shows(bench, { scenarios: { text } }) {
      const { session } = await play(bench, text)
      expectDeltasAddUp(session.events, session.deltas)
      expect(session.all('text.written')).not.toEqual([])
    },
  },
  {
    title: 'a second turn uses the connection of the first, and ids are never reused',
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
    shared: true,
    async shows(bench, { scenarios: { text } }) {
      const { session } = await play(bench, text)
      expect(session.natives).not.toEqual([])
    },
  },
  {
    title: 'a tool call has one end',
    shared: true,
    notPossible: ({ scenarios }) => reason(scenarios.toolCall),
    async shows(bench, { scenarios: { toolCall } }) {
      const { turn } = await play(bench, possible(toolCall))
      const called = turn.all('tool-call.called').map((event) => event.toolCallId)
      expect(called).not.toEqual([])
      expect(
        turn
          .all('tool-call.ended')
          .map((event) => event.toolCallId)
          .sort(),
      ).toEqual(called.sort())
    },
  },
  {
    title: 'the result of a tool call that comes after the end of its turn becomes one notice',
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
    shared: true,
    notPossible: ({ capabilities }) => (capabilities.permissions ? undefined : 'it asks for no permission'),
    async shows(bench, { scenarios: { permissions } }) {
      if (!permissions) throw new Error('this case needs the scenario "permissions"')
      const session = await bench.session(permissions.session)
      const turn = await session.prompt(permissions.prompt)
      await turn.decide(await turn.asked(), 'deny')
      await turn.ended()
      expect(await bench.file(permissions.effect.path)).toBeUndefined()
      expect(turn.all('tool-call.ended').map((event) => event.outcome)).toContain('denied')
    },
  },
  {
    title: 'a change of a file is shown to a person as a diff, and is made after the answer',
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
    notPossible: ({ scenarios }) => reason(scenarios.unrecognised),
    async shows(bench, { scenarios: { unrecognised } }) {
      const { session } = await play(bench, possible(unrecognised))
      expect(session.all('agent.unrecognised')[0]?.native).toBeDefined()
    },
  },
  {
    title: 'two connections at once share nothing',
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
    adapter: ({ scenarios }) => scenarios.unstartable.adapter(),
    async shows(bench, { scenarios: { text, unstartable } }) {
      const refusal = await refusalOf(unstartable.adapter().connect(connectInput({ cwd: bench.folder })))
      expect(refusal).toBeInstanceOf(ParleyError)
      expect(refusal).toMatchObject({ code: unstartable.code })
      const known = unstartable.adapter().refusal?.()
      if (known) {
        expect(known).toMatchObject({ code: unstartable.code })
        await expect(bench.session()).rejects.toMatchObject({ code: unstartable.code })
        return
      }
      const session = await bench.session()
      const turn = await session.prompt(text.prompt)
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: unstartable.code } })
    },
  },
  {
    title: 'a closed connection ends its events, however often it is closed',
    async shows(bench, { scenarios: { busy } }) {
      const input = connectInput({ cwd: bench.folder, person: silentPerson })
      const connection = await bench.newAdapter().connect(input)
      await connection.send(promptMessage(busy.prompt))
      await readUntil(connection, ({ type }) => /^(text|thinking|tool-call)\./.test(type))
      const rest = readToEnd(connection)
      await Promise.all([connection.close(), connection.close()])
      await connection.close()
      await connection.interrupt()
      expect((await rest).at(-1)?.type).toBe('agent.disconnected')
    },
  },
  {
    title: 'a connection that is killed in a turn ends its events, and none of its processes is left',
    async shows(bench, { scenarios: { busy } }) {
      const others = ownChildren()
      const input = connectInput({ cwd: bench.folder, person: silentPerson })
      const connection = await bench.newAdapter().connect(input)
      await connection.send(promptMessage(busy.prompt))
      await readUntil(connection, ({ type }) => /^(text|thinking|tool-call)\./.test(type))
      const started = ownDescendants(others)
      const rest = readToEnd(connection)
      if (connection.kill) connection.kill()
      else await connection.close()
      while (areAlive(started)) await setTimeout(20)
      expect((await rest).filter(({ type }) => type === 'turn.ended')).toEqual([])
      await connection.close()
      expect(ownDescendants(others)).toEqual([])
    },
  },
]

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
