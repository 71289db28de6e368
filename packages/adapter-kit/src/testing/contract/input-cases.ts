import type { PermissionMode } from '@parley/protocol'
import { expect } from '../expect.ts'
import type { Bench } from './bench.ts'
import {
  type CapabilityCases,
  expectSaid,
  nothingToRefuse,
  play,
  refusalOf,
  refusedCommand,
} from './capability-case.ts'
import { showHostTools } from './host-tool-case.ts'
import type { Scenario } from './setup.ts'

/** Capabilities about the input of an agent: attachments, settings, tools and variables. */
export const inputCases: Pick<
  CapabilityCases,
  'images' | 'files' | 'models' | 'effort' | 'modes' | 'mcp' | 'hostTools' | 'commands' | 'environment'
> = {
  images: {
    title: 'an image in a prompt reaches the agent',
    shared: true,
    shows: expectSaid,
    refused: (bench) =>
      refusedCommand(bench, {
        type: 'prompt.submit',
        parts: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }],
      }),
  },
  files: {
    title: 'a file in a prompt reaches the agent',
    shared: true,
    shows: expectSaid,
    refused: (bench) =>
      refusedCommand(bench, { type: 'prompt.submit', parts: [{ type: 'file', name: 'a.txt', text: 'a' }] }),
  },
  models: {
    title: 'a model can be chosen, at the start and later',
    shared: 'last',
    async shows(bench, { model }, { text }) {
      const chosen = await bench.session({ model })
      await (await chosen.prompt(text.prompt)).completed()
      expect((await bench.host.state(chosen.id)).effective.model).toBe(model)
      await expectInForce(bench, text, { model })
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.configure', model: 'any' }),
  },
  effort: {
    title: 'an effort can be chosen',
    shared: 'last',
    shows: (bench, { effort }, { text }) => expectInForce(bench, text, { options: { effort } }),
    refused: (bench) => refusedCommand(bench, { type: 'session.configure', options: { effort: 'high' } }),
  },
  modes: {
    title: 'a mode can be chosen',
    shared: 'last',
    shows: (bench, { mode }, { text }) => expectInForce(bench, text, { mode }),
    async refused(bench) {
      const [agent] = await bench.host.agents()
      const all: PermissionMode[] = ['ask', 'accept-edits', 'read-only', 'plan', 'bypass']
      const mode = all.find((one) => !agent?.modes.includes(one))
      if (!mode) return nothingToRefuse
      return refusedCommand(bench, { type: 'session.configure', mode })
    },
  },
  mcp: {
    title: 'tools of MCP servers can be called',
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario, { mcpServers: scenario.servers })
      expect(turn.said).toContain(scenario.says)
      const outcomes = turn.all('tool-call.ended').map(({ outcome }) => outcome)
      expect(outcomes, 'the outcomes of the calls of the turn').toContain('completed')
    },
    refused: (bench) => refusalOf(bench.session({ mcpServers: { any: { command: 'true' } } })),
  },
  hostTools: {
    title: 'allowed host tools run, and a session that is limited to host tools runs no others',
    shows: showHostTools,
    refused: (bench) => refusalOf(bench.session({ options: { hostToolsOnly: true } })),
  },
  commands: {
    title: "the agent's own commands are listed and run",
    shared: true,
    async shows(bench, scenario) {
      const { session, turn } = await play(bench, scenario)
      const { connection } = await bench.host.state(session.id)
      expect(connection?.commands?.map((command) => command.name)).toContain(scenario.command)
      expect(turn.said).toContain(scenario.says)
    },
  },
  environment: {
    title: "variables of a session reach the agent's process, and changes of them reach its next turn",
    async shows(bench, scenario) {
      const env = { CONTRACT_WORD: 'parsley' }
      const { session } = await play(bench, scenario, { env })
      expect(await bench.file('word.txt')).toBe('parsley\n')
      const variables = { CONTRACT_WORD: 'sage' }
      await bench.host.setEnvironment({ sessionId: session.id, variables })
      await (await session.prompt(scenario.prompt)).completed()
      expect(await bench.file('word.txt')).toBe('sage\n')
    },
    refused: (bench) => refusalOf(bench.session({ env: { CONTRACT_WORD: 'parsley' } })),
  },
}

/**
 * Changes these settings between two turns of one connection, and checks that they are in effect after the second turn.
 */
async function expectInForce(
  bench: Bench,
  text: Scenario,
  settings: { model?: string; mode?: PermissionMode; options?: { effort: string } },
): Promise<void> {
  const { session } = await play(bench, text)
  await session.command({ type: 'session.configure', ...settings })
  await (await session.prompt(text.prompt)).completed()
  expect((await bench.host.state(session.id)).effective).toMatchObject(settings)
}
