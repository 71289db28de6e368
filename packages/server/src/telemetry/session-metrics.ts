import { Command, type EventOf, isInBackground, type SessionEvent, type TokenUsage } from '@parley/protocol'
import type { CommandMessage } from './channels.ts'
import { createCounter, createHistogram, gaugeLines } from './metrics.ts'
import type { TurnListener } from './watch-turns.ts'

/** Values that only the caller has. */
export type MetricsNow = {
  readonly version: string
  readonly clients: Readonly<Record<string, number>>
  readonly waiting: Readonly<Record<string, number>>
}

export type SessionMetrics = {
  readonly turns: TurnListener
  opened(sessionId: string): void
  recorded(event: SessionEvent, agent: string): void
  left(sessionId: string): void
  commanded(message: CommandMessage): void
  text(now: MetricsNow): string
}

const commandTypes: ReadonlySet<string> = new Set(Command.options.map(({ shape }) => shape.type.value))
const turnSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
const callSeconds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const waitSeconds = [0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400]

/**
 * The metrics for Prometheus. Labels are agent ids, kinds, types and outcomes, whose number does not grow with use. No
 * label contains a session id, a path or text of a person.
 */
export function createSessionMetrics(): SessionMetrics {
  const metrics = createInstruments()
  const live = new Set<string>()
  const connected = new Map<string, string>()
  const tasks = new Map<string, { readonly agent: string; readonly running: Set<string> }>()

  const turns: TurnListener = {
    turnEnded({ agent }, { outcome, durationMs, usage, costUsd }) {
      metrics.turns.add([agent, outcome])
      metrics.turnSeconds.observe([agent, outcome], durationMs / 1000)
      for (const [type, count] of tokensOf(usage)) metrics.tokens.add([agent, type], count)
      metrics.cost.add([agent], costUsd ?? 0)
    },
    callEnded(agent, { outcome, at }, call) {
      metrics.calls.add([agent, call?.kind ?? 'other', outcome])
      if (call && !call.isFound) metrics.callSeconds.observe([agent, call.kind], (at - call.at) / 1000)
    },
    requestEnded(agent, end, request) {
      const { by, outcome, at } = end
      if (end.type === 'permission.resolved') {
        metrics.permissions.add([agent, request?.kind ?? 'other', outcome, by])
        if (request) metrics.permissionSeconds.observe([agent, by], (at - request.at) / 1000)
      } else {
        metrics.questions.add([agent, outcome, by])
        if (request) metrics.questionSeconds.observe([agent, by], (at - request.at) / 1000)
      }
    },
  }

  return {
    turns,
    opened: (sessionId) => void live.add(sessionId),
    recorded(event, agent) {
      metrics.events.add([event.type])
      if (event.type === 'agent.unrecognised') metrics.unrecognised.add([agent])
      if (event.type === 'agent.connected') connected.set(event.sessionId, agent)
      if (event.type === 'agent.disconnected') connected.delete(event.sessionId)
      if (event.type === 'task.updated') noteTask(tasks, event, agent)
    },
    left(sessionId) {
      live.delete(sessionId)
      connected.delete(sessionId)
      tasks.delete(sessionId)
    },
    commanded({ command, error }) {
      // The owner of the session counts a command that is sent to it.
      if (error?.details?.owner !== undefined) return
      const type = commandTypes.has(command?.type) ? command.type : 'unreadable'
      metrics.commands.add([type, error ? error.code : 'accepted'])
    },
    text(now) {
      const counted = Object.values(metrics).flatMap((metric) => metric.lines())
      const lines = [
        ...counted,
        ...sessionLines({ live: live.size, connected, tasks, now }),
        ...processLines(),
      ]
      return `${lines.join('\n')}\n`
    },
  }
}

function createInstruments() {
  return {
    turns: createCounter({
      name: 'parley_turns_total',
      help: 'Turns that ended, by outcome.',
      labels: ['agent', 'outcome'],
    }),
    turnSeconds: createHistogram({
      name: 'parley_turn_duration_seconds',
      help: 'Duration of turns, including the time that they waited for people.',
      labels: ['agent', 'outcome'],
      buckets: turnSeconds,
    }),
    calls: createCounter({
      name: 'parley_tool_calls_total',
      help: 'Tool calls that ended, by kind of tool and outcome.',
      labels: ['agent', 'kind', 'outcome'],
    }),
    callSeconds: createHistogram({
      name: 'parley_tool_call_duration_seconds',
      help: 'Duration of tool calls, including the time that they waited for people.',
      labels: ['agent', 'kind'],
      buckets: callSeconds,
    }),
    permissions: createCounter({
      name: 'parley_permission_requests_total',
      help: 'Permission requests that were resolved, by kind of tool, outcome, and who or what decided them.',
      labels: ['agent', 'kind', 'outcome', 'by'],
    }),
    permissionSeconds: createHistogram({
      name: 'parley_permission_wait_seconds',
      help: 'Time that permission requests waited, by who or what decided them.',
      labels: ['agent', 'by'],
      buckets: waitSeconds,
    }),
    questions: createCounter({
      name: 'parley_questions_total',
      help: 'Questions that were resolved, by outcome and by who or what resolved them.',
      labels: ['agent', 'outcome', 'by'],
    }),
    questionSeconds: createHistogram({
      name: 'parley_question_wait_seconds',
      help: 'Time that questions waited, by who or what resolved them.',
      labels: ['agent', 'by'],
      buckets: waitSeconds,
    }),
    tokens: createCounter({
      name: 'parley_tokens_total',
      help: 'Tokens of ended turns, as reported by agents. Input tokens do not include those that were read from or written to a cache.',
      labels: ['agent', 'type'],
    }),
    cost: createCounter({
      name: 'parley_cost_usd_total',
      help: 'Cost of ended turns in US dollars, as reported by agents.',
      labels: ['agent'],
    }),
    events: createCounter({
      name: 'parley_events_total',
      help: 'Events recorded, by type.',
      labels: ['type'],
    }),
    unrecognised: createCounter({
      name: 'parley_unrecognised_messages_total',
      help: 'Messages of agents that were not understood.',
      labels: ['agent'],
    }),
    commands: createCounter({
      name: 'parley_commands_total',
      help: 'Commands that were handled, by type and result: accepted, or the error code of the refusal.',
      labels: ['type', 'outcome'],
    }),
  }
}

function tokensOf(usage: TokenUsage | undefined): [string, number][] {
  if (!usage) return []
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning = 0 } = usage
  return [
    ['input', input],
    ['output', output],
    ['cache_read', cacheRead],
    ['cache_write', cacheWrite],
    ['reasoning', reasoning],
  ]
}

function sessionLines(facts: {
  live: number
  connected: ReadonlyMap<string, string>
  tasks: TasksBySession
  now: MetricsNow
}): string[] {
  const { live, connected, tasks, now } = facts
  const agents = Map.groupBy(connected.values(), (agent) => agent)
  const rows = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([label, count]) => [[label], count] as const)
  return [
    ...gaugeLines(
      { name: 'parley_build_info', help: 'Version of the running server.', labels: ['version'] },
      [[[now.version], 1]],
    ),
    ...gaugeLines({ name: 'parley_sessions_live', help: 'Sessions in memory.', labels: [] }, [[[], live]]),
    ...gaugeLines(
      { name: 'parley_agents_connected', help: 'Live connections to agents.', labels: ['agent'] },
      [...agents].map(([agent, { length }]) => [[agent], length] as const),
    ),
    ...gaugeLines(
      {
        name: 'parley_background_tasks',
        help: 'Background tasks that are running.',
        labels: ['agent'],
      },
      taskCounts(tasks),
    ),
    ...gaugeLines(
      { name: 'parley_requests_waiting', help: 'Requests that are waiting for a person.', labels: ['type'] },
      rows(now.waiting),
    ),
    ...gaugeLines(
      { name: 'parley_clients_connected', help: 'Clients that hold a connection open.', labels: ['face'] },
      rows(now.clients),
    ),
  ]
}

type TasksBySession = Map<string, { readonly agent: string; readonly running: Set<string> }>

function noteTask(tasks: TasksBySession, event: EventOf<'task.updated'>, agent: string): void {
  const known = tasks.get(event.sessionId) ?? { agent, running: new Set() }
  if (isInBackground(event) && !event.parked) known.running.add(event.taskId)
  else known.running.delete(event.taskId)
  if (known.running.size > 0) tasks.set(event.sessionId, known)
  else tasks.delete(event.sessionId)
}

function taskCounts(tasks: TasksBySession): (readonly [string[], number])[] {
  const counts = new Map<string, number>()
  for (const { agent, running } of tasks.values()) counts.set(agent, (counts.get(agent) ?? 0) + running.size)
  return [...counts].map(([agent, count]) => [[agent], count] as const)
}

function processLines(): string[] {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const plain = (name: string, help: string, value: number, type: 'gauge' | 'counter' = 'gauge') =>
    gaugeLines({ name, help, labels: [], type }, [[[], value]])
  return [
    ...plain('process_resident_memory_bytes', 'Resident memory size in bytes.', rss),
    ...plain('nodejs_heap_size_used_bytes', 'Heap in use, in bytes.', heapUsed),
    ...plain('nodejs_heap_size_total_bytes', 'Heap reserved, in bytes.', heapTotal),
    ...plain('nodejs_external_memory_bytes', 'Memory outside the heap, in bytes.', external),
    ...plain(
      'process_cpu_seconds_total',
      'Processor time used, in seconds.',
      (user + system) / 1e6,
      'counter',
    ),
    ...plain(
      'process_start_time_seconds',
      'Start time of the process since 1970, in seconds.',
      Math.round(performance.timeOrigin) / 1000,
    ),
  ]
}
