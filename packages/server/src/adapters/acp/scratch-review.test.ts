import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, it } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { onBench } from '../../testing/adapter-contract/bench.ts'
import { createAcpAdapter } from './index.ts'
const home = mkdtempSync(join(tmpdir(), 'parley-rv-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const program = join(import.meta.dirname, 'odd-agent-under-test.ts')
const odd = (kind: 'subagent' | 'other') => createAcpAdapter({
  id: 'odd', name: 'Odd', command: process.execPath, args: [program],
  capabilities: ['streaming', 'permissions', 'questions', 'interrupt', 'modes'],
  modes: { ask: 'tame', 'read-only': 'tame', bypass: 'tame' },
  dialect: { toolName: { callId: ['^(call)\\d+$'] }, kinds: { call: kind } },
}, { env: { PATH: process.env.PATH, HOME: home } })
it.each(['other', 'subagent'] as const)('deny rule for %s', async (kind) => {
  await onBench({ adapter: () => odd(kind), store: createMemoryStore }, odd(kind), async (bench) => {
    await bench.host.addRule({ tool: 'call', decision: 'deny', scope: 'always' })
    const session = await bench.session({ mode: 'ask' })
    const turn = await session.prompt('unasked')
    await Promise.race([turn.ended(), new Promise((r) => setTimeout(r, 3000))])
    console.log(kind, JSON.stringify(turn.all('permission.resolved')), JSON.stringify(turn.all('tool-call.called').map(({ name, kind }) => [name, kind])), turn.all('turn.ended').length)
  })
}, 30000)
