import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

/** The routes for the ledger and for the seals of logs. */
export function mountLedger(app: App, parts: AppParts): void {
  mount(app, parts, routes.listAudit, async ({ query, host }) => {
    const head = await host.lastLedgerEntry()
    const entries = await host.ledgerEntries(query)
    return { entries, ...(head && { head }) }
  })
  mount(app, parts, routes.listSealKeys, async ({ host }) => ({ keys: await host.sealKeys() }))
  mount(app, parts, routes.sealLog, ({ params, host }) => host.seal(params.id))
  mount(app, parts, routes.redactEvent, ({ params: { id, seq }, body: { reason }, host }) =>
    host.redact(id, { seq, reason }),
  )
  mount(app, parts, routes.checkLog, async ({ params, host }) => {
    const { checkLog } = await import('../check-log.ts')
    return checkLog(host, params.id)
  })
}
