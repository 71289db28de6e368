import { expect } from '../expect.ts'
import { type CapabilityCases, play, refusedCommand } from './capability-case.ts'

/** Capabilities about an agent's reports on its work. */
export const outputCases: Pick<
  CapabilityCases,
  | 'streaming'
  | 'thinking'
  | 'toolInputStreaming'
  | 'toolOutputStreaming'
  | 'plan'
  | 'subagents'
  | 'usage'
  | 'cost'
  | 'structuredOutput'
  | 'retraction'
> = {
  streaming: {
    title: 'text is streamed in pieces before the whole text is recorded',
    shared: true,
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      const pieces = turn.deltas.filter((delta) => delta.type === 'text.streamed')
      expect(pieces.length).toBeGreaterThan(1)
    },
  },
  thinking: {
    title: 'thinking is separate from text',
    shared: true,
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      expect(turn.all('thinking.written').map((event) => event.text.trim())).not.toContain('')
      expect(turn.all('thinking.written')).not.toEqual([])
    },
  },
  toolInputStreaming: {
    title: 'the input of a call is streamed before the call',
    shared: true,
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      const pieces = turn.deltas.filter((delta) => delta.type === 'tool-call.input-streamed')
      const called = turn.all('tool-call.called').map((event) => event.toolCallId)
      expect(pieces.length).toBeGreaterThan(1)
      for (const { toolCallId } of pieces) expect(called).toContain(toolCallId)
    },
  },
  toolOutputStreaming: {
    title: 'the output of a call is streamed before its end',
    shared: true,
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      expect(turn.deltas.map((delta) => delta.type)).toContain('tool-call.output-streamed')
    },
  },
  plan: {
    title: 'a plan is reported',
    shared: true,
    async shows(bench, scenario) {
      const { session } = await play(bench, scenario)
      expect(session.all('plan.updated')).not.toEqual([])
      expect((await bench.host.state(session.id)).plan).not.toEqual([])
    },
  },
  subagents: {
    title: 'events of a subagent name the call that started it',
    shared: true,
    async shows(bench, scenario) {
      const { session } = await play(bench, scenario)
      const calls = session.all('tool-call.called')
      const subagents = calls.filter((call) => call.kind === 'subagent').map((call) => call.toolCallId)
      const inner = [...calls, ...session.all('text.written')].flatMap(
        (event) => event.parentToolCallId ?? [],
      )
      expect(inner).not.toEqual([])
      for (const parent of inner) expect(subagents).toContain(parent)
    },
  },
  usage: {
    title: 'the usage of the context is measured',
    shared: true,
    async shows(bench, scenario) {
      const { session } = await play(bench, scenario)
      expect(session.all('usage.measured')).not.toEqual([])
      expect((await bench.host.state(session.id)).usage?.context.used).toBeGreaterThan(0)
    },
  },
  cost: {
    title: 'the cost is reported',
    shared: true,
    async shows(bench, scenario) {
      const { session, end } = await play(bench, scenario)
      const measured = session.all('usage.measured').map(({ costUsd }) => costUsd ?? 0)
      expect(end.costUsd ?? measured.at(-1)).toBeGreaterThan(0)
    },
  },
  structuredOutput: {
    title: 'the result has a given shape',
    async shows(bench, scenario) {
      const { end } = await play(bench, scenario, { options: { outputSchema: scenario.schema } })
      expect(end.structuredOutput).toEqual(scenario.value)
    },
    refused: (bench) =>
      refusedCommand(bench, { type: 'session.configure', options: { outputSchema: { type: 'object' } } }),
  },
  retraction: {
    title: 'a retracted block is removed',
    shared: true,
    async shows(bench, scenario) {
      const { session, turn } = await play(bench, scenario)
      const [retracted] = turn.all('block.retracted')
      expect(retracted).toBeDefined()
      const { blocks } = await bench.host.detail(session.id, 100)
      expect(blocks.map((block) => block.id)).not.toContain(retracted?.blockId)
    },
  },
}
