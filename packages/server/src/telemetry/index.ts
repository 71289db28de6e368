import { errorInfoOf } from '@parley/protocol'
import type { Host, HostObserver } from '../core/index.ts'
import { type CommandMessage, createChannels } from './channels.ts'
import { createOpenTelemetry } from './open-telemetry.ts'
import { createSessionMetrics, type MetricsNow } from './session-metrics.ts'
import { type TurnListener, TurnWatch } from './watch-turns.ts'

export {
  type CommandMessage,
  channelNames,
  type EventMessage,
  type SessionMessage,
} from './channels.ts'

export type TelemetryOptions = {
  /** Includes prompts, answers, and the inputs and results of tools in spans. By default they are left out. */
  readonly content?: boolean
  /** Uses the OpenTelemetry SDK of the process, if there is one. True by default. */
  readonly openTelemetry?: boolean
  readonly problem?: (error: unknown) => void
}

/** Telemetry of a host, to be passed to `createHost`; the faces read its metrics. It sends nothing by itself. */
export type Telemetry = {
  readonly observer: HostObserver
  readonly openTurns: number
  metrics(now: MetricsNow): string
  begin(about: { agents: readonly { id: string; name: string }[]; version: string }): Promise<void>
  /** Wraps the host so that its commands are reported too. */
  watch(host: Host): Host
}

export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const { content = false, openTelemetry: isWanted = true, problem = () => undefined } = options
  const channels = createChannels(problem)
  const metrics = createSessionMetrics()
  const names = new Map<string, string>()
  const listeners: TurnListener[] = [metrics.turns]
  let version = ''
  const openTelemetry = createOpenTelemetry({
    content,
    problem,
    listen: (listener) => void listeners.push(listener),
    version: () => version,
    nameOf: (agent) => names.get(agent) ?? agent,
  })
  const turns = new TurnWatch(listeners, problem)
  const look = () => (isWanted ? openTelemetry.look() : Promise.resolve())

  function commanded(message: CommandMessage) {
    metrics.commanded(message)
    channels.command(message)
  }

  return {
    observer: {
      opened(state) {
        metrics.opened(state.id)
        void look()
        turns.opened(state)
      },
      recorded(events, state) {
        const { agent } = state
        for (const event of events) metrics.recorded(event, agent)
        turns.recorded(events, state)
        if (channels.hasEventSubscribers) for (const event of events) channels.event({ event, agent })
      },
      left(sessionId) {
        metrics.left(sessionId)
        turns.left(sessionId)
      },
    },
    get openTurns() {
      return turns.open
    },
    metrics: (now) => metrics.text(now),
    async begin(about) {
      for (const { id, name } of about.agents) names.set(id, name)
      version = about.version
      await look()
    },
    watch: (host) => watched(host, { commanded, changed: channels.session }),
  }
}

function watched(
  host: Host,
  reports: {
    commanded(message: CommandMessage): void
    changed: ReturnType<typeof createChannels>['session']
  },
): Host {
  host.onSessionChanged(reports.changed)
  return {
    ...host,
    async command(sessionId, given, by) {
      const at = Date.now()
      const start = performance.now()
      const sent = { sessionId, command: given, at, ...(by && { actor: by }) }
      const seen = () => ({ ...sent, durationMs: performance.now() - start })
      try {
        const receipt = await host.command(sessionId, given, by)
        reports.commanded({ ...seen(), receipt })
        return receipt
      } catch (error) {
        reports.commanded({ ...seen(), error: errorInfoOf(error) })
        throw error
      }
    },
  }
}
