import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { onBench } from '../../testing/adapter-contract/bench.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../../testing/codex-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { connectInput } from '../../testing/read-connection.ts'
import { createCodexAdapter } from './index.ts'
const home = mkdtempSync(join(tmpdir(), 'parley-rv-'))
let server: ModelServer
beforeEach(async () => { server = await startModelServer(); server.wire(withNamespaces); answerByPrompt(server, /never/) })
afterEach(() => server.stop())
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
const adapter = (more = {}) => createCodexAdapter({ env: codexEnvironment({ url: server.url, home, retries: 0 }), agentsFolder: testAgentsFolder(), ...more })
const run = (cmd: string) => ({ toolCalls: [{ name: 'exec_command', id: 'toolu_a', arguments: JSON.stringify({ cmd }) }] })

it('read-only: second line', async () => {
  await onBench({ adapter: () => adapter(), store: createMemoryStore }, adapter(), async (bench) => {
    const session = await bench.session({ mode: 'read-only' })
    const turn = await session.prompt(modelPrompt('Look.', run('ls . \ntouch pwned'), { content: 'ok' }))
    await turn.completed()
    console.log(JSON.stringify(turn.all('permission.resolved')), JSON.stringify(turn.all('permission.requested')), JSON.stringify(turn.all('tool-call.ended')), await bench.file('pwned'))
  })
}, 60000)

it('stall: abort is ignored', async () => {
  const path = join(home, 'codex')
  writeFileSync(path, `#!${process.execPath}
const rl = require('node:readline').createInterface({ input: process.stdin })
rl.on('line', (l) => { const m = JSON.parse(l); if (m.method === 'initialize') console.log(JSON.stringify({ id: m.id, result: { userAgent: 'codex/0.166.0 (x)' } })) })
rl.on('close', () => process.exit(0))
`)
  chmodSync(path, 0o755)
  const giveUp = new AbortController()
  const started = Date.now()
  let settled = ''
  const one = adapter({ executable: path })
  const connecting = one.connect(connectInput({ cwd: home, signal: giveUp.signal })).then(() => { settled = 'ok' }, (e) => { settled = String(e) })
  await new Promise((r) => setTimeout(r, 2000))
  giveUp.abort()
  await Promise.race([connecting, new Promise((r) => setTimeout(r, 5000))])
  const ps = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n').filter((l) => l.includes(path))
  console.log('STALL settled=', JSON.stringify(settled), 'after', Date.now() - started, ps)
  const probe = new AbortController()
  setTimeout(() => probe.abort(), 1000)
  const r = await Promise.race([one.probe(probe.signal), new Promise((r) => setTimeout(() => r('PROBE HANGS 5s after'), 6000))])
  console.log('probe', r)
  for (const l of ps) process.kill(Number.parseInt(l, 10), 'SIGKILL')
  await connecting
  console.log('after kill', settled)
}, 60000)
