import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { type CommandInput, hasCode, type SessionEvent } from '@parley/protocol'
import { expect, it, vi } from 'vitest'
import type { Host } from '../../core/index.ts'
import { logProblems } from '../../testing/invariants.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { lose, type NodeHost, nodeHosts, script } from './hosts-under-test.ts'
import { PostgresServer } from './postgres-under-test.ts'

/**
 * Tests sessions whose machine has no living node: another node records commands for them, and the machine continues
 * the sessions when it has a node again.
 */

const server = await PostgresServer.forFile()
const folder = folderForFile()
const open = nodeHosts(server, folder)

/** Fails the test if an agent is started. */
const neverStarted = (scripted: AgentAdapter): AgentAdapter => ({
  ...scripted,
  connect: () => Promise.reject(new Error('a caretaker has started an agent')),
})
const home = { place: 'machine:home' }
const away = (name = 'away') => ({ place: `machine:${name}`, adapter: neverStarted })

let files = 0
/** A prompt that asks before it appends a line to a file. */
function asking() {
  const file = join(folder, `effect-${++files}`)
  const effect = { writeFile: { path: file, text: 'x' } }
  const ask = { type: 'permission', name: 'Write', kind: 'edit', title: 'Write', effect }
  return { file, prompt: script(ask, { type: 'text', text: 'Done.' }) }
}

const asked = (host: Host, id: string) =>
  vi.waitUntil(async () => (await host.state(id)).requests.length === 1, 30_000)

const submit = (commandId: string, text: string) =>
  ({ type: 'prompt.submit', commandId, text: script({ type: 'text', text }) }) as const

async function answer(host: Host, id: string): Promise<CommandInput> {
  const [request] = (await host.state(id)).requests
  const requestId = request?.requestId ?? ''
  return { type: 'permission.decide', commandId: 'answer', requestId, decision: 'allow' }
}

/** Sends a command until it is accepted, as a client does after a conflict. */
async function eventually(host: Host, id: string, command: CommandInput): Promise<void> {
  for (;;) {
    try {
      await host.command(id, command)
      return
    } catch (error) {
      if (!hasCode(error, 'conflict')) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

async function logOf(host: Host, id: string): Promise<SessionEvent[]> {
  const { events } = await host.read(id, { after: 0, limit: 1_000 })
  const log = events.map(({ json }) => JSON.parse(json) as SessionEvent)
  expect(logProblems(log)).toEqual([])
  return log
}

const said = (log: readonly SessionEvent[]) =>
  log.flatMap((event) => (event.type === 'text.written' ? [event.text] : []))

/** The events that report the loss of the node, with the process that recorded each. */
const lossesIn = (log: readonly SessionEvent[]) =>
  log.flatMap((event) => ('recordedBy' in event ? [{ type: event.type, recordedBy: event.recordedBy }] : []))

/** Opens a node at the home place again. The node takes over the sessions of this place. */
async function reopen(url: string): Promise<NodeHost> {
  const back = await open(url, home)
  await back.host.adopt()
  return back
}

it('an answer and prompts that are given while the machine is unavailable are used once when it is available again', async () => {
  const url = await server.database()
  const [one, other] = [await open(url, home), await open(url, away())]
  const { file, prompt } = asking()
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder, prompt })
  await asked(one.host, id)
  expect((await other.host.list({ limit: 1 })).sessions[0]).not.toHaveProperty('awaits')
  await lose(one, other)

  expect((await other.host.list({ limit: 1 })).sessions[0]).toMatchObject({ id, awaits: home.place })
  expect(await other.host.detail(id, 1)).toMatchObject({ place: home.place, awaits: home.place })
  await other.host.command(id, submit('p1', 'First.'))
  await other.host.command(id, submit('p2', 'Second.'))
  await other.host.command(id, submit('p2', 'Second.'))
  await other.host.patch(id, { title: 'Named while away' })
  await other.host.command(id, await answer(other.host, id))
  const waiting = await other.host.state(id)
  expect(waiting).toMatchObject({
    title: 'Named while away',
    requests: [],
    turn: { parked: expect.anything() },
  })
  expect(waiting.queue).toHaveLength(2)
  expect(() => readFileSync(file)).toThrow('ENOENT')
  expect(lossesIn(await logOf(other.host, id))).toEqual([
    { type: 'agent.disconnected', recordedBy: 'caretaker' },
    { type: 'turn.parked', recordedBy: 'caretaker' },
  ])

  const back = await reopen(url)
  await vi.waitUntil(async () => (await back.host.state(id)).turns === 3, 30_000)
  await vi.waitUntil(async () => !(await back.host.state(id)).turn, 30_000)
  expect(said(await logOf(back.host, id))).toEqual(['Done.', 'First.', 'Second.'])
  expect(readFileSync(file, 'utf8')).toBe('x')
  expect(await other.host.detail(id, 1)).not.toHaveProperty('awaits')
})

it('a prompt for an idle session waits in the queue for its machine', async () => {
  const url = await server.database()
  const [one, other] = [await open(url, home), await open(url, away())]
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder })
  await lose(one, other)
  await other.host.command(id, submit('p', 'Later.'))
  expect(await other.host.state(id)).toMatchObject({ turns: 0, queue: [{}] })
  const back = await reopen(url)
  await vi.waitUntil(async () => (await back.host.state(id)).turns === 1, 30_000)
  expect(said(await logOf(back.host, id))).toEqual(['Later.'])
})

it('a command that needs the agent or the folder is refused with the name of the awaited machine', async () => {
  const url = await server.database()
  const [one, other] = [await open(url, home), await open(url, away())]
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder })
  await lose(one, other)
  const refusal = {
    code: 'busy',
    message: expect.stringContaining(home.place),
    details: { awaited: home.place },
  }
  for (const type of ['session.fork', 'session.compact', 'turn.cancel'] as const)
    await expect(other.host.command(id, { type, commandId: type })).rejects.toMatchObject(refusal)
  await expect(other.host.previewRewind(id, 'prm_x')).rejects.toMatchObject(refusal)
  await other.host.delete(id)
  await expect(other.host.state(id)).rejects.toMatchObject({ code: 'not_found' })
})

it('a rule that is granted while the machine is unavailable applies at the place of the session', async () => {
  const url = await server.database()
  const [one, other] = [await open(url, home), await open(url, away())]
  const { prompt } = asking()
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder, prompt })
  await asked(one.host, id)
  await lose(one, other)
  await other.host.command(id, { ...(await answer(other.host, id)), scope: 'project' } as CommandInput)
  expect(await other.host.rules()).toMatchObject([{ project: folder, place: home.place }])
})

it('several caretakers record every command once', async () => {
  const url = await server.database()
  const one = await open(url, home)
  const others = [await open(url, away()), await open(url, away()), await open(url, away('third'))]
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder })
  await lose(one, others[0] as NodeHost)
  const texts = Array.from({ length: 9 }, (_, index) => `Prompt ${index}.`)
  await Promise.all(
    texts.flatMap((text, index) => others.map(({ host }) => eventually(host, id, submit(`p${index}`, text)))),
  )
  const back = await reopen(url)
  await vi.waitUntil(async () => (await back.host.state(id)).turns === texts.length, 60_000)
  expect(said(await logOf(back.host, id)).toSorted()).toEqual(texts)
})

it('a command that is recorded while the machine becomes available again runs once', async () => {
  const url = await server.database()
  const [one, other] = [await open(url, home), await open(url, away())]
  const { file, prompt } = asking()
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder, prompt })
  await asked(one.host, id)
  await lose(one, other)
  const decide = await answer(other.host, id)
  const back = await open(url, home)
  const texts = Array.from({ length: 10 }, (_, index) => `Prompt ${index}.`)
  // The caretaker sends its commands to the owner once there is one, as a routing host does.
  const either = async (command: CommandInput) => {
    for (;;) {
      const isDone = await other.host.command(id, command).then(
        () => true,
        () =>
          back.host.command(id, command).then(
            () => true,
            () => false,
          ),
      )
      if (isDone) return
    }
  }
  await Promise.all([
    either(decide),
    ...texts.map((text, index) => either(submit(`p${index}`, text))),
    back.host.adopt(),
  ])
  await vi.waitUntil(async () => (await back.host.state(id)).turns === texts.length + 1, 60_000)
  await vi.waitUntil(async () => !(await back.host.state(id)).turn, 30_000)
  const log = await logOf(back.host, id)
  expect(said(log).toSorted()).toEqual(['Done.', ...texts])
  expect(readFileSync(file, 'utf8')).toBe('x')
})
