import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BenchSession, processesIn } from '@parley/adapter-kit/testing'
import type { SessionEvent } from '@parley/protocol'
import { afterAll, expect, it, onTestFailed } from 'vitest'
import { createHost } from '../../packages/server/src/index.ts'
import { createMemoryStore } from '../../packages/server/src/stores/memory.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { ModelRequest } from '../../packages/server/src/testing/model-server.ts'
import { type RealAgentName, realAgents } from '../../packages/server/src/testing/real-agents.ts'

/** Tests all real agents on one host, with one scripted model. */

const takeOver = /Take over from [\w-]+, ([\w-]+)\./
/**
 * A hand-off contains the prompts of the earlier session, with their scripted answers. It is therefore answered before
 * any prompt is matched.
 */
const home = await AgentHome.forFile({
  prepare: (model) =>
    model.script(
      ({ messages }) => takeOver.test(JSON.stringify(messages)),
      Array.from({ length: 1000 }, () => ({
        response: ({ messages }: ModelRequest) => ({
          content: `${takeOver.exec(JSON.stringify(messages))?.[1]} goes on.`,
        }),
      })),
    ),
})
const agents = realAgents(home)
const host = await createHost({
  adapters: Object.values(agents).map(({ adapter }) => adapter()),
  store: createMemoryStore(),
  limits: { maxConnections: 32 },
})
afterAll(() => host.close())

const names: readonly RealAgentName[] = ['claude', 'codex', 'opencode', 'gemini', 'claude-acp']
/** The number of turns in each of the twenty sessions. About 40 turns take a minute on two cores. */
const turns = Number(process.env.PARLEY_AGENTS_TURNS ?? 3)

async function begin(agent: RealAgentName): Promise<BenchSession & { folder: string }> {
  const folder = home.folder('work')
  const { id } = await host.create({ agent, cwd: folder })
  return Object.assign(await BenchSession.follow(() => host, id), { folder })
}

/** The events without the types that differ between agents: connections, usage and notices. */
function shapeOf(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    switch (event.type) {
      case 'tool-call.called':
      case 'permission.requested':
        return [`${event.type} ${event.kind}`]
      case 'tool-call.ended':
      case 'permission.resolved':
      case 'turn.ended':
        return [`${event.type} ${event.outcome}`]
      case 'prompt.submitted':
      case 'turn.started':
      case 'text.written':
      case 'thinking.written':
        return [event.type]
      default:
        return []
    }
  })
}

/** The sessions of earlier tests, one for each agent. */
const begun = new Map<RealAgentName, Awaited<ReturnType<typeof begin>>>()

it.each(['allow', 'deny'] as const)(
  'one prompt and one model give the same shape of log with every agent: %s',
  async (decision) => {
    const shapes: Record<string, string[]> = {}
    onTestFailed(() => begun.clear())
    for (const name of names) {
      const session = begun.get(name) ?? (await begin(name))
      begun.set(name, session)
      const before = session.events.length
      rmSync(join(session.folder, 'done.txt'), { force: true })
      const command = agents[name].command('printf x > done.txt')
      const turn = await session.prompt(modelPrompt(`Do it, ${name}.`, command, { content: 'I am through.' }))
      const ask = await turn.asked()
      await turn.decide(ask, decision)
      await turn.ended()
      shapes[name] = shapeOf(session.events.slice(before))
      expect(logProblems(session.events)).toEqual([])
      const written = read(join(session.folder, 'done.txt'))
      expect(written, name).toBe(decision === 'allow' ? 'x' : undefined)
    }
    const { claude, ...others } = shapes
    expect(claude).toEqual([
      'prompt.submitted',
      'turn.started',
      'tool-call.called execute',
      'permission.requested execute',
      `permission.resolved ${decision === 'allow' ? 'allowed' : 'denied'}`,
      `tool-call.ended ${decision === 'allow' ? 'completed' : 'denied'}`,
      'text.written',
      'turn.ended completed',
    ])
    for (const [name, shape] of Object.entries(others)) expect({ [name]: shape }).toEqual({ [name]: claude })
  },
)

it('a session is handed over from each agent to each other agent, whose model gets what was said and done', async () => {
  const said = (name: RealAgentName) => `The word of ${name} is zebra-${name}.`
  const sources = new Map<RealAgentName, BenchSession>()
  for (const name of names) {
    const session = begun.get(name) ?? (await begin(name))
    const turn = await session.prompt(
      modelPrompt(said(name), agents[name].command('cat zebra'), { content: `I am ${name}, and I keep it.` }),
    )
    await turn.completed()
    sources.set(name, session)
  }
  const handOver = async (name: RealAgentName, agent: RealAgentName) => {
    const source = sources.get(name)
    if (!source) throw new Error(`${name} has no session`)
    const words = `Take over from ${name}, ${agent}.`
    const { id } = await host.create({ agent, from: { sessionId: source.id }, prompt: words })
    const target = await BenchSession.follow(() => host, id)
    const { outcome } = await target.until(() => target.all('turn.ended')[0])
    expect([name, agent, outcome, target.all('text.written').at(-1)?.text]).toEqual([
      ...[name, agent, 'completed', `${agent} goes on.`],
    ])
    const bodies = home.model.calls.map(({ body }) => JSON.stringify(body ?? ''))
    const asked = bodies.filter((body) => body.includes(words)).join('\n')
    for (const fact of [said(name), 'cat zebra', `I am ${name}, and I keep it.`])
      expect(asked.includes(fact), `${agent} was told by ${name}: ${fact}`).toBe(true)
    expect(logProblems(target.events)).toEqual([])
    await target.command({ type: 'session.close' })
    return id
  }
  // In each round, every agent hands over once and takes over once.
  const into = new Map(names.map((name) => [name, [] as string[]]))
  for (let step = 1; step < names.length; step++)
    await Promise.all(
      names.map(async (name, index) => {
        const id = await handOver(name, names[(index + step) % names.length] ?? name)
        into.get(name)?.push(id)
      }),
    )
  for (const [name, session] of sources)
    expect(session.all('session.handed-over').map((event) => event.into)).toEqual(into.get(name))
})

it('twenty sessions of four agents at once lose nothing, mix nothing up, and leave no process behind', async () => {
  const four = names.slice(0, 4)
  const sessions = Array.from({ length: 20 }, (_, index) => ({ index, name: four[index % 4]! }))
  await Promise.all(
    sessions.map(async ({ index, name }) => {
      const session = await begin(name)
      for (let turn = 0; turn < turns; turn++) {
        const words = `session ${index} turn ${turn}`
        const prompt = modelPrompt(
          `Say ${words}.`,
          agents[name].command(`printf ${index}.${turn}, >> log.txt`),
          { content: `Here is ${words}.` },
        )
        const played = await session.prompt(prompt)
        await played.completed()
        expect(played.said).toContain(`Here is ${words}.`)
      }
      expect(read(join(session.folder, 'log.txt'))).toBe(
        Array.from({ length: turns }, (_, turn) => `${index}.${turn},`).join(''),
      )
      expect(logProblems(session.events)).toEqual([])
      const { events } = await host.read(session.id, { after: 0, limit: 5000 })
      expect(session.events).toEqual(events.map(({ json }) => JSON.parse(json)))
    }),
  )
  await host.close()
  expect(processesIn(home.path)).toEqual([])
})

function read(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
