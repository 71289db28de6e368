import { hasCode, newId } from '@parley/protocol'
import type { Logger } from 'pino'
import { type AlertSettings, createAlerts } from './alerts/index.ts'
import type { AlertStore } from './core/alert-store.ts'
import type { Host } from './core/index.ts'
import type { SessionStore } from './core/session-store.ts'
import type { Authentication } from './faces/http/authentication.ts'
import type { Upgrade } from './faces/sockets.ts'
import { createTerminalFace } from './faces/terminal/index.ts'
import { createTerminals } from './workspace/terminals.ts'

type Parts = {
  readonly host: Host
  readonly logger: Logger
  /** The public URL of the console. */
  readonly url: () => string
  readonly authentication: () => Authentication
}

/** The terminals of an embedded server. `served` contains the settings with which its HTTP face serves them. */
export function embedTerminals(env: Readonly<Record<string, string | undefined>>, { host, logger }: Parts) {
  const terminals = createTerminals({ env, newId: () => newId('trm') })
  const face = createTerminalFace({ terminals, logger })
  const sockets = new Set<Upgrade['socket']>()
  const forget = host.onSessionChanged(
    ({ change, session }) => change === 'deleted' && terminals.removeOf(session),
  )
  return {
    served: {
      terminals,
      terminal(terminalId: string, upgrade: Upgrade) {
        const { socket } = upgrade
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        face.accept(terminalId, upgrade)
      },
    },
    close(): void {
      forget()
      terminals.closeAll()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/**
 * The alerts of an embedded server. The host exists already, so the alerts follow its list of sessions, which changes
 * with each open request, each answer and each end of a turn.
 */
export function embedAlerts(
  { store, ...settings }: AlertSettings & { readonly store: SessionStore & AlertStore },
  { host, logger, url, authentication }: Parts,
) {
  const alerts = createAlerts({
    store,
    settings,
    url,
    principalOf: (holder) => authentication().principalOf(holder),
    ledgerHead: () => ledgerHead(host),
    problem: (error, doing) => logger.error({ err: error }, `could not ${doing}`),
  })
  const forget = host.onSessionChanged(({ change, session }) => {
    if (change !== 'deleted') alerts.search(session)
  })
  return {
    presence: { onPresence: alerts.setPresence },
    served: { targets: alerts.targets },
    start: () => void alerts.start(),
    async close(): Promise<void> {
      forget()
      await alerts.close()
    },
  }
}

/** The last entry of the ledger; undefined if the host was created without a ledger. */
async function ledgerHead(host: Host) {
  try {
    return await host.lastLedgerEntry()
  } catch (thrown) {
    if (hasCode(thrown, 'not_supported')) return undefined
    throw thrown
  }
}
