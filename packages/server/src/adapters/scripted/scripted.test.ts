import type { AgentAdapter, AgentOutput } from '@parley/adapter-kit'
import { expectShown, onBench, type Scenarios, verdictOn } from '@parley/adapter-kit/testing'
import { capabilities, capabilityNames, ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { contractHost } from '../../testing/contract-host.ts'
import {
  capabilityScripts,
  generalScripts,
  json,
  remembering,
  writing,
} from '../../testing/script-scenarios.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { createGates } from './gates.ts'
import { createScriptedAdapter, scriptedCapabilities } from './index.ts'
import { fileTranscript } from './transcript.ts'

const gates = createGates()
const scratch = folderForFile()

const unstartable = () =>
  createScriptedAdapter({ refuse: () => new ParleyError('agent_not_found', 'It is not installed.') })

const general = {
  ...generalScripts,
  crash: { prompt: json({ type: 'text', text: 'oh' }, { type: 'crash', exitCode: 1 }) },
  unrecognised: { prompt: json({ type: 'unrecognised', native: { type: 'what' } }) },
  unstartable: { adapter: unstartable, code: 'agent_not_found' },
} satisfies Scenarios

const scenarios: Scenarios = {
  ...general,
  ...capabilityScripts,
  toolInputStreaming: {
    prompt: json({ type: 'tool', name: 'Read', input: { path: 'a.txt' }, inputPieces: 4 }),
  },
  toolOutputStreaming: general.toolCall,
  editInput: {
    prompt: writing,
    input: { path: 'other.txt', text: 'edited\n' },
    effect: { path: 'other.txt', text: 'edited\n' },
  },
  images: {
    prompt: [{ type: 'image', mimeType: 'image/png', data: 'AAAA', name: 'cat.png' }],
    says: 'cat.png',
  },
  steer: {
    ...capabilityScripts.steer,
    release: () => gates.open('steered'),
    late: (go) => ({
      prompt: json({ type: 'wait', gate: go }, { type: 'text', text: 'the first answer' }),
      says: 'the first answer',
      words: 'to the left',
      answer: 'to the left',
      release: () => gates.open(go),
    }),
  },
  hostTools: { prompt: ({ name, input }) => json({ type: 'host-tool', name, input }) },
  commands: { prompt: '/compact', command: 'compact', says: '/compact' },
  usage: {
    prompt: json({ type: 'usage', context: { used: 10 }, total: { input: 8, output: 2 }, costUsd: 0.1 }),
  },
  cost: { prompt: json({ type: 'end', costUsd: 0.25 }) },
  structuredOutput: {
    prompt: json({ type: 'end', structuredOutput: { count: 2 } }),
    schema: { type: 'object' },
    value: { count: 2 },
  },
  retraction: { prompt: json({ type: 'retraction', text: 'forget this' }) },
}

adapterContract('the scripted agent', {
  capabilities: capabilities(...scriptedCapabilities),
  start: async () => ({
    adapter: () => createScriptedAdapter({ gates, script: remembering, transcript: fileTranscript(scratch) }),
    host: contractHost,
  }),
  scenarios,
})

// The same suite without any capability, which covers each refusal.
adapterContract('a scripted agent without any capability', {
  capabilities: capabilities(),
  start: async () => ({
    adapter: () => createScriptedAdapter({ capabilities: capabilities(), modes: ['ask'] }),
    host: contractHost,
  }),
  scenarios: { ...general, permissions: capabilityScripts.permissions },
})

describe('the rule that an agent shows each capability it declares', () => {
  const declared = capabilities('thinking')

  it('tests the declared capabilities, and reports the others as not supported', () => {
    expect(verdictOn('thinking', declared, scenarios)).toBe('shown')
    expect(verdictOn('fork', declared, scenarios)).toBe('not-supported')
  })
  it('fails a declared capability that has no scenario', () => {
    expect(verdictOn('thinking', declared, general)).toBe('no-scenario')
  })
  it('fails a capability that has no test case', () => {
    expect(verdictOn('thinking', declared, scenarios, {})).toBe('no-case')
    expect(capabilityNames.map((name) => verdictOn(name, declared, scenarios))).not.toContain('no-case')
  })

  it.each(capabilityNames)('fails an agent that declares %s and does not show it', async (name) => {
    const world = { adapter: pretender, host: contractHost }
    const all = {
      ...scenarios,
      mcp: { ...general.text, says: 'mcp', servers: {} },
    }
    await expect(onBench(world, pretender(), (bench) => expectShown(name, bench, all))).rejects.toThrow()
  })
})

/** An agent that declares every capability and implements none. */
function pretender(): AgentAdapter {
  const adapter = createScriptedAdapter({
    capabilities: capabilities(...capabilityNames),
    script: () => [{ type: 'text', text: 'I can do that.', pieces: 0 }],
  })
  return {
    ...adapter,
    async connect(input) {
      const connection = await adapter.connect(input)
      return {
        send: (message) => connection.send(message),
        interrupt: () => connection.interrupt(),
        close: () => connection.close(),
        configure: async () => undefined,
        events: onlyWords(connection.events),
      }
    },
  }
}

async function* onlyWords(outputs: AsyncIterable<AgentOutput>): AsyncGenerator<AgentOutput> {
  for await (const output of outputs) {
    if (output.type === 'text.written') yield { ...output, text: 'I can do that.' }
    if (output.type === 'turn.ended') yield output
  }
}
