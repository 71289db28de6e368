import type { Principal } from '../access/index.ts'
import type { HostObserver } from '../core/index.ts'
import type { AlertsOptions } from './alerts-options.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Targets } from './targets.ts'
import { nameOfPage } from './visible-pages.ts'

export type { AlertSettings } from './alerts-options.ts'

export type Alerts = {
  /** Observes the events that the host records. It does nothing while there is no target. */
  readonly observer: HostObserver
  /** Searches the log of a session, for a host that was created without the observer. */
  search(sessionId: string): void
  /** Starts sending alerts, if there are targets. Call it once, when sessions can be opened. */
  start(): Promise<void>
  targets(): Promise<Targets>
  /** Records whether a page of a browser or token is visible. `connection` identifies the connection of the page. */
  setPresence(connection: string, principal: Principal, visible: boolean): void
  close(): Promise<void>
}

/** The time for which a page counts as visible after its last report. */
const presenceMs = 120_000
/** The events after which a log is searched. */
const alerting = new Set([
  'permission.requested',
  'permission.resolved',
  'question.asked',
  'question.resolved',
  'turn.ended',
])

/**
 * Sends alerts about sessions to targets: browsers, webhooks and ntfy topics. All other files of this folder are loaded
 * only when there is a target, or when a caller asks for the targets.
 */
export function createAlerts(options: AlertsOptions): Alerts {
  const { store, problem } = options
  let running: Promise<{ dispatcher: Dispatcher; targets: Targets }> | undefined
  let dispatcher: Dispatcher | undefined
  let hasStarted = false
  let isClosed = false

  const run = () => {
    running ??= import('./run-alerts.ts').then(async ({ runAlerts }) => {
      const made = await runAlerts(options)
      dispatcher = made.dispatcher
      if (hasStarted && !isClosed) await dispatcher.start()
      return made
    })
    running.catch(() => {
      running = undefined
    })
    return running
  }
  const runIfNeeded = async () => {
    if (!running && (await store.targets()).length > 0) await run()
  }
  // Once the dispatcher runs, it reads the targets itself.
  store.shared?.onChanged(async () => {
    if (hasStarted && !running) await runIfNeeded()
  })

  return {
    search: (sessionId) => dispatcher?.search(sessionId),
    observer: {
      opened: ({ id }) => dispatcher?.search(id),
      recorded(events, { id }) {
        if (dispatcher && events.some(({ type }) => alerting.has(type))) dispatcher.search(id)
      },
      left: () => undefined,
    },
    async start() {
      hasStarted = true
      try {
        if (running) await (await running).dispatcher.start()
        else await runIfNeeded()
      } catch (error) {
        problem(error, 'start to send alerts')
      }
    },
    targets: async () => (await run()).targets,
    setPresence(connection, { kind, id, person }, visible) {
      if (!dispatcher || isClosed || (kind !== 'device' && kind !== 'token')) return
      const page = nameOfPage({ kind, id }, connection)
      const until = visible ? Date.now() + presenceMs : undefined
      store.setPresence(page, person.id, until).catch((error) => problem(error, 'record a visible page'))
    },
    async close() {
      isClosed = true
      const made = await running?.catch(() => undefined)
      await made?.dispatcher.close()
    },
  }
}
