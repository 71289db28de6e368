import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { adapterContract } from '@parley/adapter-kit/testing'
import { contractHost } from '@parley/server/testing'
import { createAdapter } from './adapter.js'

// The agent keeps its conversations in a folder of the test.
const home = mkdtempSync(join(tmpdir(), 'my-agent-'))
const adapter = () => createAdapter({ options: { home } })

const write = { prompt: 'write "Parsley." to herb.txt' }

adapterContract(
  'My Agent',
  {
    capabilities: adapter().capabilities,
    start: async () => ({ adapter, host: contractHost, stop: async () => rmSync(home, { recursive: true }) }),
    // Each scenario is a prompt that makes the agent do what a rule is about.
    scenarios: {
      text: { prompt: 'Say hello', says: 'hello' },
      toolCall: write,
      edit: { prompt: () => 'replace "two" by "2" in poem.txt' },
      busy: { prompt: 'wait' },
      crash: { prompt: 'crash' },
      unrecognised: { prompt: 'surprise' },
      unstartable: {
        adapter: () => createAdapter({ options: { agent: join(home, 'nothing.js') } }),
        code: 'agent_failed',
      },
      // One for each capability that the adapter declares.
      streaming: { prompt: 'Say hello' },
      permissions: { ...write, effect: { path: 'herb.txt', text: 'Parsley.' } },
      interrupt: {},
      resume: { first: 'My herb is parsley.', second: 'what did I say?', says: 'My herb is parsley.' },
    },
  },
  { describe, it, before, after },
)
