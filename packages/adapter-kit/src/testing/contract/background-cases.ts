import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventOf, SessionEvent } from '@parley/protocol'
import { isRunning } from '../child-processes.ts'
import { expect } from '../expect.ts'
import type { Bench, BenchSession } from './bench.ts'
import { expectNextPrompt, type Kill, type KillableCase, withKill } from './kill.ts'
import type { BackgroundScenario, FileEffect, Saying, Scenarios } from './setup.ts'

type BackgroundCase = KillableCase<BackgroundScenario>

const first: BackgroundCase = {
  title: 'a task of an ended turn asks for permission, and the agent reports in a turn of its own',
  killed: 'while the task asks',
  shows: asksAfterItsTurn,
}

const others: readonly BackgroundCase[] = [
  {
    title: 'the request of a task outlives a restart, and its answer starts the task again',
    killed: 'before the restart',
    shows: asksOverRestart,
  },
  {
    title: 'the request of a task outlives a restart and a prompt after it',
    killed: 'before the restart',
    shows: asksOverAPrompt,
  },
  {
    title: 'a running task keeps its process when idle processes are closed and slots are needed',
    killed: 'while the task runs',
    shows: outlivesIdleClose,
  },
  {
    title: 'the end of a task is reported once',
    killed: 'in the turn of its own',
    shows: reportsOnce,
  },
  {
    title: 'a task that runs too long ends in the log with the reason',
    killed: 'before that',
    shows: endsAtItsLimit,
  },
  {
    title: 'a task can be stopped, and is not affected by cancelling a turn',
    killed: 'while the turn and the task run',
    shows: isStopped,
  },
]

/** Work that continues after its turn can ask, is reported, and is never lost silently. */
export const backgroundCase = {
  title: first.title,
  shows: (bench: Bench, scenario: BackgroundScenario, scenarios: Scenarios) =>
    first.shows(bench, scenario, scenarios),
  more: [
    withKill(first),
    ...others.flatMap(({ title, killed, shows }) => [
      {
        title,
        shows: (bench: Bench, scenario: BackgroundScenario, scenarios: Scenarios) =>
          shows(bench, scenario, scenarios),
      },
      withKill({ title, killed, shows }),
    ]),
  ],
}

/**
 * A task asks after its turn has ended; a prompt runs meanwhile; the answer lets the task continue, and the agent
 * reports by itself.
 */
async function asksAfterItsTurn(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const go = join(bench.folder, 'go-asks')
  const { session, effect, says, meanwhile: words } = await begin(bench, scenario.asks(go))
  expect(await stateOf(bench, session)).toMatchObject({ status: 'background', connected: true })
  await writeFile(go, '')
  const ask = await session.until(() => session.all('permission.requested')[0], 'the request of the task')
  expect(ask.turnId).toBeUndefined()
  expect((await stateOf(bench, session)).status).toBe('waiting')
  expect(await bench.host.waiting()).toMatchObject([{ request: { requestId: ask.requestId } }])
  if (kill) {
    await kill(session)
    return continuesAfterAnswer(bench, session, { ask, effect, scenarios })
  }
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

/** The server stops while a task waits. The request remains open, and its answer starts the task again. */
async function asksOverRestart(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const go = join(bench.folder, 'go-restart')
  const { session, effect } = await begin(bench, scenario.asks(go))
  await writeFile(go, '')
  const ask = await session.until(() => session.all('permission.requested')[0], 'the request of the task')
  await kill?.(session)
  await bench.restart()
  await session.listen()
  await continuesAfterAnswer(bench, session, { ask, effect, scenarios })
}

/** The resumed agent may report the end of the task. The request nevertheless remains open until a person answers. */
async function asksOverAPrompt(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const go = join(bench.folder, 'go-prompt')
  const { session, effect } = await begin(bench, scenario.asks(go))
  await writeFile(go, '')
  const { requestId } = await session.until(
    () => session.all('permission.requested')[0],
    'the request of the task',
  )
  await kill?.(session)
  await bench.restart()
  await session.listen()
  await expectNextPrompt(session, scenarios)
  expect(await stateOf(bench, session)).toMatchObject({ status: 'parked', requests: [{ requestId }] })
  await session.command({ type: 'permission.decide', requestId, decision: 'deny' })
  const ended = await session.until(() => endsOfTasks(session.events)[0], 'the end of the task')
  expect(ended).toMatchObject({ status: 'stopped', reason: 'denied' })
  expect(await bench.file(effect.path)).toBeUndefined()
}

/**
 * The process of a waiting task has ended. The answer to the task's request starts the task again, and the task acts
 * once.
 */
async function continuesAfterAnswer(
  bench: Bench,
  session: BenchSession,
  { ask, effect, scenarios }: { ask: { requestId: string }; effect: FileEffect; scenarios: Scenarios },
): Promise<void> {
  expect(await stateOf(bench, session)).toMatchObject({ status: 'parked', requests: [{ stale: true }] })
  expect(await bench.file(effect.path)).toBeUndefined()
  await session.command({ type: 'permission.decide', requestId: ask.requestId, decision: 'allow' })
  const again = await session.until(
    () => session.all('turn.started').find(({ cause }) => cause?.by === 'task'),
    'the turn that starts the task again',
  )
  await session.until(
    () => session.all('permission.resolved').find(({ carriedFrom }) => carriedFrom === ask.requestId),
    'a request for the same call, which gets the carried answer',
  )
  await endOf(session, again.turnId)
  await atRest(bench, session)
  expect(await bench.file(effect.path)).toBe(effect.text)
  expect(session.all('permission.requested')).toHaveLength(2)
  await expectNextPrompt(session, scenarios)
}

/** An idle process is closed. A process with running tasks is not closed and does not lose its slot. */
async function outlivesIdleClose(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  await bench.restart({ limits: { idleCloseMs: 1_000, maxConnections: 2 } })
  const go = join(bench.folder, 'go-idle')
  const { session, says } = await begin(bench, scenario.runs(go))
  for (const _ of [1, 2]) {
    const other = await bench.session()
    await (await other.prompt(scenarios.text.prompt)).completed()
    await other.until(() => other.all('agent.disconnected')[0], 'the end of the idle process', 'close')
  }
  expect(session.all('agent.disconnected')).toEqual([])
  expect(await stateOf(bench, session)).toMatchObject({ status: 'background' })
  if (kill) {
    await kill(session)
    await taskEnded(bench, go)
    await writeFile(go, '')
    return isLostWithItsProcess(bench, session, scenarios, [says])
  }
  await writeFile(go, '')
  await ownTurn(session, says)
  const closed = () => session.all('agent.disconnected').find(({ reason }) => reason === 'idle')
  await session.until(closed, 'the end of the idle process', 'close')
}

/** When a task has ended, the agent continues by itself, in one turn. */
async function reportsOnce(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const [go, report] = [join(bench.folder, 'go-report'), join(bench.folder, 'report')]
  const { session, says } = await begin(bench, scenario.runs(go, report))
  await writeFile(go, '')
  const { turnId } = await session.until(
    () => session.all('turn.started').find(({ cause }) => cause?.by === 'agent'),
    "a turn of the agent's own",
  )
  await kill?.(session)
  await writeFile(report, '')
  const ended = await endOf(session, turnId)
  await atRest(bench, session)
  if (kill) {
    expect(ended).toMatchObject({ outcome: 'failed', stopReason: 'agent_lost' })
    return expectNextPrompt(session, scenarios, [says])
  }
  expect(ended.outcome).toBe('completed')
  expect(session.all('text.written').filter(({ text }) => text.includes(says))).toHaveLength(1)
}

/**
 * Background work has two limits of its own: on the time without events (`backgroundMs`) and on its total time
 * (`backgroundTotalMs`). When one is reached, the task's end is recorded with the reason `limit`.
 */
async function endsAtItsLimit(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const never = join(bench.folder, 'never')
  if (kill) {
    const { session, says } = await begin(bench, scenario.runs(never))
    await kill(session)
    await bench.restart()
    await session.listen()
    await taskEnded(bench, never)
    return isLostWithItsProcess(bench, session, scenarios, [says])
  }
  for (const limits of [{ backgroundMs: 200 }, { backgroundTotalMs: 200 }]) {
    await bench.restart({ limits })
    const { session } = await begin(bench, scenario.runs(never))
    const ended = await session.until(() => endsOfTasks(session.events)[0], 'the end of the task')
    expect(ended).toMatchObject({ status: 'stopped', reason: 'limit' })
    expect(await stateOf(bench, session)).toMatchObject({ status: 'idle', connected: false })
    await taskEnded(bench, never)
  }
}

/** Cancelling a turn ends that turn. The task continues until it is stopped itself. */
async function isStopped(
  bench: Bench,
  scenario: BackgroundScenario,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const never = join(bench.folder, 'never')
  const { session, says } = await begin(bench, scenario.runs(never))
  const turn = await session.prompt(scenarios.busy.prompt)
  await turn.begun()
  if (kill) {
    await kill(session)
    expect(await turn.ended()).toMatchObject({ outcome: 'failed', stopReason: 'agent_lost' })
    await taskEnded(bench, never)
    return isLostWithItsProcess(bench, session, scenarios, [says])
  }
  await session.command({ type: 'turn.cancel' })
  expect((await turn.ended()).outcome).toBe('cancelled')
  expect(await stateOf(bench, session)).toMatchObject({ status: 'background' })
  await session.command({ type: 'task.stop' })
  expect(await session.until(() => endsOfTasks(session.events)[0], 'the end of the task')).toMatchObject({
    status: 'stopped',
  })
}

/**
 * A task without an open request ends once, with the reason. The session is then idle, and the agent does not report
 * the task later.
 */
async function isLostWithItsProcess(
  bench: Bench,
  session: BenchSession,
  scenarios: Scenarios,
  lost: readonly string[],
): Promise<void> {
  await session.until(() => endsOfTasks(session.events)[0], 'the end of the task')
  expect(await stateOf(bench, session)).toMatchObject({ status: 'idle', connected: false })
  await expectNextPrompt(session, scenarios, lost)
  // A resumed agent may report the end of the task once more.
  for (const ended of endsOfTasks(session.events))
    expect(ended).toMatchObject({ status: 'stopped', reason: 'agent-lost' })
}

async function begin<One extends Saying>(
  bench: Bench,
  scenario: One,
): Promise<One & { session: BenchSession }> {
  const session = await bench.session(scenario.session)
  await (await session.prompt(scenario.prompt)).completed()
  return { ...scenario, session }
}

/** The end of the agent's own turn whose text contains `says`. */
async function ownTurn(session: BenchSession, says: string): Promise<EventOf<'turn.ended'>> {
  const isSaid = () => session.all('text.written').find(({ text }) => text.includes(says))
  const said = await session.until(isSaid, `the text ${JSON.stringify(says)} in a turn of the agent's own`)
  const started = session.all('turn.started').find(({ turnId }) => turnId === said.turnId)
  expect(started).toMatchObject({ cause: { by: 'agent' } })
  return endOf(session, said.turnId)
}

function endOf(session: BenchSession, turnId: string | undefined): Promise<EventOf<'turn.ended'>> {
  const ended = () => session.all('turn.ended').find((event) => event.turnId === turnId)
  return session.until(ended, "the end of the agent's own turn", 'one-end-of-a-turn')
}

function taskEnded(bench: Bench, words: string): Promise<void> {
  return bench.poll('the processes of the task to end', 'background', () => !isRunning(words))
}

async function atRest(bench: Bench, session: BenchSession): Promise<void> {
  for (;;) {
    const { seq } = session.events.at(-1) ?? { seq: 0 }
    const { status } = await stateOf(bench, session)
    if (status === 'idle') return
    await session.until(() => (session.events.at(-1)?.seq ?? 0) > seq, 'the session to be idle')
  }
}

function endsOfTasks(events: readonly SessionEvent[]): EventOf<'task.updated'>[] {
  return events.filter(
    (event): event is EventOf<'task.updated'> => event.type === 'task.updated' && event.status !== 'running',
  )
}

function stateOf(bench: Bench, { id }: BenchSession) {
  return bench.host.state(id)
}
