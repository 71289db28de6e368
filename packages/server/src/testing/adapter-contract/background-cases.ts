import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventOf, SessionEvent } from '@parley/protocol'
import { expect } from '../peers.ts'
import type { Bench, BenchSession } from './bench.ts'
import type { BackgroundScenario, Saying, Scenarios } from './setup.ts'

/** Work outside a turn that a prompt began: it can ask, is told of, and is not lost in silence. */
export const backgroundCase = {
  title: 'a task asks after its turn, and the agent reports in a turn of its own',
  shows: asksAfterItsTurn,
  more: [
    {
      title: 'the request of a task outlives a restart, and its answer starts the task again',
      shows: asksOverRestart,
    },
    { title: 'a running task keeps its process over idle close and slot loss', shows: outlivesIdleClose },
    { title: 'a task that runs too long ends in the log with the reason', shows: endsAtItsLimit },
    { title: 'a task can be stopped, and cancelling a turn leaves it alone', shows: isStopped },
  ],
}

/** A task asks when its turn is over; a prompt runs meanwhile; the answer lets it go on, and the agent reports by itself. */
async function asksAfterItsTurn(bench: Bench, scenario: BackgroundScenario): Promise<void> {
  const go = join(bench.folder, 'go-asks')
  const { session, effect, says, meanwhile: words } = await begin(bench, scenario.asks(go))
  expect(await stateOf(bench, session)).toMatchObject({ status: 'background', connected: true })
  await writeFile(go, '')
  const ask = await session.until(() => session.all('permission.requested')[0])
  expect(ask.turnId).toBeUndefined()
  expect((await stateOf(bench, session)).status).toBe('waiting')
  expect(await bench.host.waiting()).toMatchObject([{ request: { requestId: ask.requestId } }])
  const meanwhile = await session.prompt(words.prompt)
  await meanwhile.completed()
  expect(meanwhile.said).toContain(words.says)
  expect((await stateOf(bench, session)).requests).toHaveLength(1)
  expect(await bench.file(effect.path)).toBeUndefined()
  await session.command({ type: 'permission.decide', requestId: ask.requestId, decision: 'allow' })
  const report = await ownTurn(session, says)
  expect(report.outcome).toBe('completed')
  expect(await bench.file(effect.path)).toBe(effect.text)
  expect(await stateOf(bench, session)).toMatchObject({ status: 'idle', requests: [] })
  expect(session.all('task.updated').at(-1)).toMatchObject({ status: 'completed' })
}

/** The server stops while a task waits: the request stays open, and its answer starts the task again. */
async function asksOverRestart(bench: Bench, scenario: BackgroundScenario): Promise<void> {
  const go = join(bench.folder, 'go-restart')
  const { session, effect } = await begin(bench, scenario.asks(go))
  await writeFile(join(bench.folder, effect.path), 'not yet')
  await writeFile(go, '')
  const ask = await session.until(() => session.all('permission.requested')[0])
  await bench.restart()
  await session.listen()
  expect(await stateOf(bench, session)).toMatchObject({ status: 'parked', requests: [{ stale: true }] })
  await session.command({ type: 'permission.decide', requestId: ask.requestId, decision: 'allow' })
  const again = await session.until(() =>
    session.all('turn.started').find(({ cause }) => cause?.by === 'task'),
  )
  await session.until(() =>
    session.all('permission.resolved').find(({ carriedFrom }) => carriedFrom === ask.requestId),
  )
  await session.until(() => session.all('turn.ended').find(({ turnId }) => turnId === again.turnId))
  await atRest(bench, session)
  expect(await bench.file(effect.path)).toBe(effect.text)
}

/** An idle process is closed; one whose tasks run is not, and does not lose its slot. */
async function outlivesIdleClose(
  bench: Bench,
  scenario: BackgroundScenario,
  { text }: Scenarios,
): Promise<void> {
  await bench.restart({ limits: { idleCloseMs: 1_000, maxConnections: 2 } })
  const go = join(bench.folder, 'go-idle')
  const { session, says } = await begin(bench, scenario.runs(go))
  for (const _ of [1, 2]) {
    const other = await bench.session()
    await (await other.prompt(text.prompt)).completed()
    await other.until(() => other.all('agent.disconnected')[0])
  }
  expect(session.all('agent.disconnected')).toEqual([])
  expect(await stateOf(bench, session)).toMatchObject({ status: 'background' })
  await writeFile(go, '')
  await ownTurn(session, says)
  await session.until(() => session.all('agent.disconnected').find(({ reason }) => reason === 'idle'))
}

/** Background work has a limit of its own; then its end is in the log, with the reason. */
async function endsAtItsLimit(bench: Bench, scenario: BackgroundScenario): Promise<void> {
  await bench.restart({ limits: { backgroundMs: 200 } })
  const { session } = await begin(bench, scenario.runs(join(bench.folder, 'never')))
  const ended = await session.until(() => endOfTask(session.events))
  expect(ended).toMatchObject({ status: 'stopped', reason: 'limit' })
  expect(await stateOf(bench, session)).toMatchObject({ status: 'idle', connected: false })
}

/** Cancelling a turn ends that turn; the task goes on until it is stopped itself. */
async function isStopped(bench: Bench, scenario: BackgroundScenario, { busy }: Scenarios): Promise<void> {
  const { session } = await begin(bench, scenario.runs(join(bench.folder, 'never')))
  const turn = await session.prompt(busy.prompt)
  await turn.begun()
  await session.command({ type: 'turn.cancel' })
  expect((await turn.ended()).outcome).toBe('cancelled')
  expect(await stateOf(bench, session)).toMatchObject({ status: 'background' })
  await session.command({ type: 'task.stop' })
  expect(await session.until(() => endOfTask(session.events))).toMatchObject({ status: 'stopped' })
}

async function begin<One extends Saying>(
  bench: Bench,
  scenario: One,
): Promise<One & { session: BenchSession }> {
  const session = await bench.session(scenario.session)
  await (await session.prompt(scenario.prompt)).completed()
  return { ...scenario, session }
}

/** A turn that the agent began by itself and said this in. */
async function ownTurn(session: BenchSession, says: string): Promise<EventOf<'turn.ended'>> {
  const said = await session.until(() => session.all('text.written').find(({ text }) => text.includes(says)))
  const started = session.all('turn.started').find(({ turnId }) => turnId === said.turnId)
  expect(started).toMatchObject({ cause: { by: 'agent' } })
  return session.until(() => session.all('turn.ended').find(({ turnId }) => turnId === said.turnId))
}

async function atRest(bench: Bench, session: BenchSession): Promise<void> {
  for (;;) {
    const { seq } = session.events.at(-1) ?? { seq: 0 }
    const { status } = await stateOf(bench, session)
    if (status === 'idle') return
    await session.until(() => (session.events.at(-1)?.seq ?? 0) > seq)
  }
}

function endOfTask(events: readonly SessionEvent[]): EventOf<'task.updated'> | undefined {
  return events.findLast(
    (event): event is EventOf<'task.updated'> => event.type === 'task.updated' && event.status !== 'running',
  )
}

function stateOf(bench: Bench, { id }: BenchSession) {
  return bench.host.state(id)
}
