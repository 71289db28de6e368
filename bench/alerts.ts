import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import { Receiver } from '../packages/server/src/alerts/receivers-under-test.ts'
import { KillableServer } from '../tests/e2e/killable-server.ts'
import { logOf } from '../tests/e2e/session-fixture.ts'
import type { AlertsCalls, AlertsInput } from './lib/alerts-process.ts'
import type { Task } from './lib/bench-agent.ts'
import { type Figure, type FigureInput, milliseconds, type Row } from './lib/figure.ts'
import { startProcess } from './lib/processes.ts'
import { compare, inTurns, median, percentile } from './lib/stats.ts'

/** The delay of alerts, the cost of a target for each turn, and the alerts that a kill of the server loses. */
export const alerts: Figure = {
  name: 'alerts',
  async measure(input) {
    await using receiver = await Receiver.open()
    return [
      ...(await lateness(receiver, input)),
      ...(await costs(receiver, input)),
      await lost(receiver, input),
    ]
  },
}

const note: Task = { do: 'notice', count: 1, text: 'A small thing that an agent said on its way.' }
const start = (given: AlertsInput) => startProcess<AlertsCalls>('./alerts-process.ts', given)

/** The time from the moment when an alert is due to the arrival of its request. Alerts to webhooks are due at once. */
async function lateness(receiver: Receiver, { quick, folder }: FigureInput): Promise<Row[]> {
  const waitMs = 500
  const ours = start({
    folder: join(folder, 'late'),
    waitMs,
    targets: [
      { kind: 'webhook', url: `${receiver.origin}/hook` },
      { kind: 'ntfy', url: `${receiver.origin}/topic` },
    ],
  })
  try {
    const count = quick ? 10 : 100
    const before = receiver.received.length
    const late: Record<'webhook' | 'person', number[]> = { webhook: [], person: [] }
    for (let turn = 0; turn < count; turn++) {
      await ours.call('turns', { task: note, count: 1 })
      await receiver.count(before + 2 * (turn + 1))
      const [hook, person] = receiver.received.slice(-2)
      const at = Date.parse(String((hook?.json as { timestamp?: string } | undefined)?.timestamp))
      late.webhook.push((hook?.at ?? 0) - at)
      late.person.push((person?.at ?? 0) - at - waitMs)
    }
    return (['webhook', 'person'] as const).map((kind) => {
      const [middle, p95] = [median(late[kind]), percentile(late[kind], 95)]
      return {
        figure:
          kind === 'webhook'
            ? 'time from an event to its webhook'
            : 'time from the end of the wait to the alert',
        value: `${milliseconds(middle)} (p95 ${milliseconds(p95)})`,
        ...(kind === 'person' && { aim: 'median < 50 ms', met: middle < 50 }),
        data: { median: middle, p95 },
      }
    })
  } finally {
    await ours.stop()
  }
}

/** The same work with a webhook as target, and without a target. */
async function costs(receiver: Receiver, { quick, folder }: FigureInput): Promise<Row[]> {
  const targets = [{ kind: 'webhook', url: `${receiver.origin}/cost` }] as const
  const ours = start({ folder: join(folder, 'with'), waitMs: 0, targets })
  const bare = start({ folder: join(folder, 'without'), waitMs: 0, targets: [] })
  try {
    const works = [
      ['10,000 appends in one turn', { ...note, count: 10_000 }, 1],
      ['50 turns with an alert each', note, quick ? 20 : 50],
    ] as const
    const rows: Row[] = []
    for (const [figure, task, count] of works) {
      await ours.call('turns', { task, count })
      await bare.call('turns', { task, count })
      const result = compare(
        await inTurns(
          quick ? 3 : 5,
          () => ours.call('turns', { task, count }),
          () => bare.call('turns', { task, count }),
        ),
      )
      rows.push({
        figure: `${figure}, with a target`,
        value: milliseconds(result.ours * 1000),
        baseline: milliseconds(result.bare * 1000),
        ratio: result.ratio,
        data: result,
      })
    }
    return rows
  } finally {
    await ours.stop()
    await bare.stop()
  }
}

/** Kills the server as soon as the end of a turn is announced, and counts the alerts that never arrive. */
async function lost(receiver: Receiver, { quick }: FigureInput): Promise<Row> {
  const kills = quick ? 3 : 100
  const server = new KillableServer()
  server.environment = { PARLEY_TEST_ALERTS: JSON.stringify({ privateTargets: true }) }
  const connect = () =>
    createClient({ url: server.url, token: server.token, backoff: { baseMs: 5, maxMs: 60 } })
  try {
    await server.start()
    let client = connect()
    await client.call('createTarget', { body: { kind: 'webhook', url: `${receiver.origin}/kills` } })
    mkdirSync(join(server.folder, 'work'))
    const { id } = await client.createSession({ agent: 'scripted', cwd: join(server.folder, 'work') })
    for (let killed = 0; killed < kills; killed++) {
      const { seq } = await client.call('getSession', { params: { id }, query: { tail: 0 } })
      await client.prompt(id, '[{"type":"text","text":"Done."}]')
      for await (const { type } of client.events(id, { after: seq })) if (type === 'turn.ended') break
      await server.end('SIGKILL')
      client.close()
      await server.start()
      client = connect()
    }
    const expected = (await logOf(client, id))
      .filter(({ type }) => type === 'turn.ended')
      .map(({ seq }) => `${id}:${seq}`)
    const ids = () => receiver.received.map(({ json }) => (json.data as { id?: string } | undefined)?.id)
    const missing = () => expected.filter((one) => !ids().includes(one)).length
    while (missing() > 0) {
      const isLate = await receiver.count(receiver.received.length + 1).then(
        () => false,
        () => true,
      )
      if (isLate) break
    }
    const repeated = ids().filter((one) => one?.startsWith(id)).length - (expected.length - missing())
    client.close()
    return {
      figure: `alerts lost over ${kills} kills`,
      value: `${missing()} of ${expected.length} (${repeated} sent twice)`,
      aim: 'none',
      met: missing() === 0,
      data: { lost: missing(), expected: expected.length, repeated },
    }
  } finally {
    await server.dispose()
  }
}
