import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import type { Scenarios } from '@parley/adapter-kit/testing'
import type { CapabilityName } from '@parley/protocol'
import { pino } from 'pino'
import { createAcpAdapter } from '../../adapters/acp/index.ts'
import { createGates } from '../../adapters/scripted/gates.ts'
import { createScriptedAdapter, scriptedCapabilities } from '../../adapters/scripted/index.ts'
import { memoryTranscript } from '../../adapters/scripted/transcript.ts'
import { startParley } from '../../cli/start.ts'
import { adapterContract } from '../../testing/adapter-contract.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { capabilityScripts, generalScripts, json, remembering } from '../../testing/script-scenarios.ts'

/**
 * Tests Parley as an agent of Parley. A host with the ACP adapter runs the real program `parley acp`, connected to a
 * server with the scripted agent. The capabilities of the scripted agent must pass through both protocols.
 */

const scratch = mkdtempSync(join(tmpdir(), 'parley-by-parley-'))
const program = new URL('../../../bin/parley.js', import.meta.url).pathname
const token = 'a-token-of-the-inner'
const gates = createGates()

/** Capabilities that ACP cannot express. */
const notCarried: readonly CapabilityName[] = [
  'toolInputStreaming',
  'toolOutputStreaming',
  'editInput',
  'hostTools',
  'structuredOutput',
  'retraction',
  'forkBefore',
  'forkElsewhere',
]

/**
 * The scripted agent. A steered prompt takes longer through two servers, so the turn waits at a gate until
 * the prompt arrives.
 */
function scripted(): AgentAdapter {
  const adapter = createScriptedAdapter({ gates, script: remembering, transcript: memoryTranscript() })
  return {
    ...adapter,
    async connect(input) {
      const connection = await adapter.connect(input)
      return {
        events: connection.events,
        interrupt: () => connection.interrupt(),
        configure: (settings) => connection.configure(settings),
        close: () => connection.close(),
        async send(message) {
          await connection.send(message)
          if (message.prompt.delivery === 'steer') gates.open('steered')
        },
      }
    },
  }
}

const parleyAcp = (executable = process.execPath) =>
  createAcpAdapter(
    {
      id: 'parley',
      name: 'Parley',
      command: executable,
      args: ['--conditions=source', program, 'acp', '--agent', 'scripted', '--data-dir', scratch],
      env: { PARLEY_TOKEN: token },
      capabilities: scriptedCapabilities.filter((name) => !notCarried.includes(name)),
      modes: { ask: 'ask', 'accept-edits': 'ask', 'read-only': 'ask', plan: 'plan', bypass: 'ask' },
      options: ['effort'],
      dialect: {
        parentCall: ['parley', 'parentToolCallId'],
        kinds: { Task: 'subagent' },
        customAnswer: '_custom',
        steering: '_session/steering',
      },
    },
    { env: { PATH: process.env.PATH, HOME: scratch } },
  )

const usage = { context: { used: 10, window: 100 }, total: { input: 8, output: 2 }, costUsd: 0.1 }

const scenarios: Scenarios = {
  ...generalScripts,
  ...capabilityScripts,
  crash: { notPossible: 'a turn of a running server goes on when its editor is gone' },
  unrecognised: { notPossible: 'what the inner agent says that is not known stays in the inner log' },
  unstartable: { adapter: () => parleyAcp(join(scratch, 'nothing')), code: 'agent_not_found' },
  images: {
    prompt: [
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    ],
    says: 'I see the image',
  },
  commands: { prompt: '/help', command: 'compact', says: '/help' },
  usage: { prompt: json({ type: 'usage', ...usage }) },
  // ACP reports the total cost of the session, which must grow.
  cost: { prompt: json({ type: 'usage', ...usage, costUsd: 0.2 }) },
}

adapterContract('parley behind parley', {
  capabilities: parleyAcp().capabilities,
  scenarios,
  timeoutMs: 60_000,
  async start() {
    const inner = await startParley({
      dataDir: scratch,
      hostname: '127.0.0.1',
      port: 0,
      token,
      logger: pino({ level: 'warn' }, pino.destination(2)),
      adapters: [scripted()],
      limits: { cancelGraceMs: 500, stopGraceMs: 500 },
    })
    return {
      adapter: () => parleyAcp(),
      host: contractHost,
      async stop() {
        await inner.close()
        rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
      },
    }
  },
})
