import { answer, given } from '../lib/processes.ts'
import { Heard } from './heard.ts'
import { lengthOf, promptFor, type Task } from './model.ts'
import type { Place, RunningSide, Side, SideName, SideSession } from './side.ts'

/**
 * The process of one side: its client, and for a library the library itself. It has only the environment of its place.
 */
const { name, place } = given<{ name: SideName; place: Place }>()
for (const variable of Object.keys(process.env)) {
  if (!/^(PATH|NODE_CHANNEL_.*|BENCH_.*)$/.test(variable)) delete process.env[variable]
}
Object.assign(process.env, place.env)

const waitMs = 3_000

const load: Record<SideName, () => Promise<Side>> = {
  parley: () => parleyWith('claude'),
  'parley-opencode': () => parleyWith('opencode'),
  'parley-qwen': () => parleyWith('qwen'),
  sdk: async () => (await import('./sdk.ts')).sdk,
  'claude-agent-acp': async () => (await import('./claude-agent-acp.ts')).claudeAgentAcp,
  'sandbox-agent': async () => (await import('./sandbox-agent.ts')).sandboxAgent,
  'ai-sdk': async () => (await import('./ai-sdk.ts')).aiSdk,
  opencode: async () => (await import('./opencode.ts')).opencode,
  qwen: async () => (await import('./qwen.ts')).qwen,
}

async function parleyWith(agent: 'claude' | 'opencode' | 'qwen'): Promise<Side> {
  const [{ createParley }, { parleyConfig }] = await Promise.all([
    import('./parley.ts'),
    import('./places.ts'),
  ])
  return createParley(agent, parleyConfig[agent])
}

let running: RunningSide
const sessions: SideSession[] = []

/** Waits for text that is still on its way: it may come after the end of the turn. */
async function measure(task: Task, turn: (prompt: string, hear: (text: string) => void) => Promise<unknown>) {
  const heard = new Heard({ expected: lengthOf(task), times: task.do === 'stamp' })
  await turn(promptFor(task), heard.hear)
  await heard.complete(waitMs)
  return heard.received
}

const calls = {
  async start() {
    running = await (await load[name]()).start(place)
    return { startMs: running.startMs }
  },
  /** Opens a session with its first prompt. Later calls use this session. */
  open: (task: Task) =>
    measure(task, async (prompt, hear) => sessions.unshift(await running.newSession(prompt, hear))),
  turn: (task: Task) => measure(task, (prompt, hear) => sessions[0]!.prompt(prompt, hear)),
  /** A turn with this number of readers. Returns the time until the last one has all, and the least that one has. */
  async fanOut({ task, readers }: { task: Task; readers: number }) {
    const session = sessions[0]!
    if (!session.join) return undefined
    const expected = lengthOf(task)
    let heard: Heard[] = []
    const opened = await Promise.all(
      Array.from({ length: readers }, (_, index) => session.join!((text) => heard[index]?.hear(text))),
    )
    heard = Array.from({ length: readers }, () => new Heard({ expected }))
    await session.prompt(promptFor(task), () => undefined)
    await Promise.all(heard.map((one) => one.complete(waitMs)))
    for (const reader of opened) reader.close()
    const all = heard.map(({ received }) => received)
    return {
      lastMs: Math.max(...all.map(({ lastMs }) => lastMs)),
      length: Math.min(...all.map(({ length }) => length)),
    }
  },
  /** Reads the whole session as a new reader, which expects this number of characters. */
  async read(expected: number) {
    const session = sessions[0]!
    if (!session.read) return undefined
    const heard = new Heard({ expected })
    await session.read(heard.hear)
    await heard.complete(waitMs)
    return heard.received
  },
  processorMs() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  resident() {
    globalThis.gc?.()
    return process.memoryUsage().rss
  },
}
export type SideCalls = typeof calls

answer(calls, () => running?.stop())
