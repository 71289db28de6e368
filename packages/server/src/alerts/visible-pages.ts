import { holds, type Principal, permitsSession } from '../access/index.ts'
import type { AlertStore } from '../core/alert-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import type { Alert } from './find-alerts.ts'
import type { TargetData } from './target-data.ts'

type Holder = TargetData['holder']

type PageParts = {
  readonly store: Pick<AlertStore, 'visiblePages'> & Pick<SessionStore, 'load'>
  readonly principalOf: (holder: Holder) => Promise<Principal | undefined>
  readonly now: () => number
}

/** The name under which a visible page is stored: the browser or token that it uses, and its connection. */
export function nameOfPage({ kind, id }: Holder, connection: string): string {
  return `${kind} ${id} ${connection}`
}

function holderOf(page: string): Holder | undefined {
  const [kind, id] = page.split(' ')
  return (kind === 'device' || kind === 'token') && id ? { kind, id } : undefined
}

/**
 * True if the person has a visible page in which the alert can be seen and, if it is about an open request, answered.
 * A page of a browser with fewer rights must not delay the alerts of the other browsers of the person.
 */
export async function isShownInPage(parts: PageParts, personId: string, alert: Alert): Promise<boolean> {
  const pages = await parts.store.visiblePages(personId, parts.now())
  const holders = new Map(pages.map((page) => [page.slice(0, page.lastIndexOf(' ')), holderOf(page)]))
  for (const holder of holders.values()) {
    const principal = holder && (await parts.principalOf(holder))
    if (principal && (await mayHandle(parts, principal, alert))) return true
  }
  return false
}

async function mayHandle({ store }: PageParts, principal: Principal, alert: Alert): Promise<boolean> {
  if (!holds(principal, 'read')) return false
  if (alert.kind === 'request.waiting' && !holds(principal, 'decide')) return false
  if (!principal.limits) return true
  const record = await store.load(alert.session.id)
  if (!record) return false
  const { id, cwd, agent } = record.state
  return permitsSession(principal.limits, { id, cwd, agent, place: record.place })
}
