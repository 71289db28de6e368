import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { processesIn } from '@parley/adapter-kit/testing'
import type { SessionEvent } from '@parley/protocol'
import type { Host } from '../packages/server/src/core/index.ts'
import { createHost } from '../packages/server/src/index.ts'
import { createMemoryStore } from '../packages/server/src/stores/memory.ts'
import { AgentHome } from '../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../packages/server/src/testing/model-by-prompt.ts'
import { type RealAgentName, realAgents } from '../packages/server/src/testing/real-agents.ts'
import { type Figure, mebibytes, milliseconds, type Row } from './lib/figure.ts'

const names: readonly RealAgentName[] = ['claude', 'codex', 'opencode', 'gemini', 'claude-acp']

/**
 * The cost of each real agent: the time from a prompt to the end of its turn, first cold and then warm, and the
 * memory of its processes.
 */
export const agents: Figure = {
  name: 'agents',
  async measure() {
    await using home = await AgentHome.open()
    const real = realAgents(home)
    const idleNode = await nodeThatDoesNothing()
    const rows: Row[] = []
    for (const name of names) {
      const host = await createHost({ adapters: [real[name].adapter()], store: createMemoryStore() })
      rows.push(...(await measureAgent(name, host, home, idleNode)))
      await host.close()
    }
    return rows
  },
}

async function measureAgent(
  name: RealAgentName,
  host: Host,
  home: AgentHome,
  idleNode: { ms: number; rss: number },
): Promise<Row[]> {
  const cwd = home.folder('work')
  const begin = performance.now()
  const { id } = await host.create({ agent: name, cwd, prompt: modelPrompt('Hello.', { content: 'Hello.' }) })
  await ended(host, id, 1)
  const coldMs = performance.now() - begin
  const again = performance.now()
  const text = modelPrompt('Hello again.', { content: 'Hello.' })
  await host.command(id, { type: 'prompt.submit', commandId: 'second', text })
  await ended(host, id, 2)
  const warmMs = performance.now() - again
  const rss = memoryOfProcesses(home.path)
  const row = (figure: string, value: string, baseline: string, ratio: number): Row => ({
    figure: `${name}: ${figure}`,
    value,
    baseline,
    ratio,
  })
  return [
    row(
      'first turn, including the start of its process',
      milliseconds(coldMs),
      milliseconds(idleNode.ms),
      coldMs / idleNode.ms,
    ),
    row('second turn, against the first', milliseconds(warmMs), milliseconds(coldMs), warmMs / coldMs),
    row('memory of its processes, one session', mebibytes(rss), mebibytes(idleNode.rss), rss / idleNode.rss),
  ]
}

async function ended(host: Host, id: string, turns: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = 0
  const stop = await host.follow(
    id,
    {},
    {
      native: false,
      following: () => undefined,
      caughtUp: () => undefined,
      ended: () => undefined,
      deliver(batch) {
        for (const { kind, json } of batch) {
          if (kind === 'event' && (JSON.parse(json) as SessionEvent).type === 'turn.ended') seen++
        }
        if (seen >= turns) resolve()
      },
    },
  )
  await promise
  stop()
}

/** The resident memory of all processes with `place` in their environment. */
function memoryOfProcesses(place: string): number {
  return processesIn(place)
    .map(({ pid }) => rssOf(pid))
    .reduce((sum, one) => sum + one, 0)
}

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

async function nodeThatDoesNothing(): Promise<{ ms: number; rss: number }> {
  const begin = performance.now()
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("x"); setInterval(() => {}, 1000)'])
  await once(child.stdout, 'data')
  const ms = performance.now() - begin
  const rss = rssOf(child.pid ?? 0)
  child.kill()
  await once(child, 'exit')
  return { ms, rss }
}
