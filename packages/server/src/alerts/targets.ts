import { randomBytes } from 'node:crypto'
import {
  AlertKind,
  defined,
  type LastDelivery,
  type NewTarget,
  newId,
  ParleyError,
  type Target,
  type TargetPatch,
} from '@parley/protocol'
import { createRateLimit, expectRevocable, expectScopes, maySee, type Principal } from '../access/index.ts'
import { note } from './deliver-alerts.ts'
import type { DispatcherParts } from './dispatcher.ts'
import { testMessage } from './message.ts'
import { send } from './send.ts'
import { type KnownTarget, shownTarget, type TargetData } from './target-data.ts'
import { checkSubscriptionKeys } from './web-push.ts'

const maxTargets = 500
const maxOfPerson = 20
const tests = { max: 10, perMs: 60_000 }

/** The operations on targets, within the rights of the caller. */
export type Targets = {
  list(principal: Principal): Promise<{ targets: Target[]; pushKey: string }>
  add(principal: Principal, given: NewTarget): Promise<Target & { secret?: string }>
  patch(principal: Principal, id: string, patch: TargetPatch): Promise<Target>
  remove(principal: Principal, id: string): Promise<void>
  test(principal: Principal, id: string): Promise<LastDelivery>
}

export type TargetsParts = Omit<DispatcherParts, 'closing'> & {
  /** Reads the stored targets again. */
  readonly refresh: () => Promise<void>
}

export function createTargets(parts: TargetsParts): Targets {
  const { store, request, now, pushKey } = parts
  const limit = createRateLimit({ ...tests, now: () => performance.now() })

  async function shown(id: string, principal: Principal): Promise<Target> {
    const record = (await store.targets()).find((one) => one.id === id)
    return shownTo(principal, found(parts, principal, id), record?.last)
  }

  /** Applies a stored change here, and waits until the other processes have applied it. */
  async function changed(): Promise<void> {
    await parts.refresh()
    await store.shared?.changed()
  }

  async function put(target: KnownTarget): Promise<void> {
    await store.putTarget(target)
    await changed()
  }

  return {
    async list(principal) {
      await parts.refresh()
      const last = new Map((await store.targets()).map((record) => [record.id, record.last]))
      const own = parts.targets().filter((target) => isShownTo(principal, target))
      const targets = own.map((target) => shownTo(principal, target, last.get(target.id)))
      return { targets, pushKey: (await pushKey()).publicKey }
    },
    async add(principal, given) {
      await parts.refresh()
      const data = dataOf(principal, given)
      request.check(data.url, data.kind === 'push' ? 'push' : 'other')
      const replaced = await replacedBy(parts, data)
      refuseTooMany(
        parts.targets().filter((target) => !replaced.includes(target)),
        data,
      )
      for (const { id } of replaced) await store.removeTarget(id)
      const target = { id: newId('tgt'), createdAt: now(), data }
      await put(target)
      const secret = data.kind === 'webhook' ? data.secret : undefined
      return { ...shownTo(principal, target, undefined), ...defined({ secret }) }
    },
    async patch(principal, id, { disabled, ...changes }) {
      await parts.refresh()
      const { data, ...target } = await changeable(parts, principal, id)
      const { disabledAt, ...rest } = { ...data, ...defined(changes) }
      const at = disabled === undefined ? disabledAt : disabled ? (disabledAt ?? now()) : undefined
      await put({ ...target, data: { ...rest, ...defined({ disabledAt: at }) } })
      return shown(id, principal)
    },
    async remove(principal, id) {
      await parts.refresh()
      await changeable(parts, principal, id)
      await store.removeTarget(id)
      await changed()
    },
    async test(principal, id) {
      await parts.refresh()
      const target = await changeable(parts, principal, id)
      limit.check(principal.person.id)
      limit.count(principal.person.id)
      const at = now()
      const message = testMessage(`test:${id}:${at}`, at, parts.url())
      const result = await send(parts, target.data, { ...message, expiresAt: at + 60_000 })
      await note(parts, target, result)
      const { ok, status, error } = result
      return { at, ok, ...defined({ status, error }) }
    },
  }
}

/**
 * The targets that a new target replaces: all targets of the same subscription of a browser, even if they were added
 * for another person. The caller must know the keys of the subscription, because its endpoint is not a secret. Throws
 * ParleyError `conflict` if the keys differ.
 */
async function replacedBy(parts: TargetsParts, added: TargetData): Promise<KnownTarget[]> {
  if (added.kind !== 'push') return []
  const same = parts.targets().filter(({ data }) => data.kind === 'push' && data.url === added.url)
  for (const { data } of same) {
    const isOwn = data.holder.id === added.holder.id || hasSameKeys(data, added)
    if (!isOwn && (await parts.principalOf(data.holder)))
      throw new ParleyError(
        'conflict',
        'Another browser has added this push subscription. Unsubscribe and subscribe again.',
      )
  }
  return same
}

function hasSameKeys({ keys: one }: TargetData, { keys: other }: TargetData): boolean {
  return one !== undefined && one.auth === other?.auth && one.p256dh === other.p256dh
}

function isShownTo(principal: Principal, { data: { personId, holder } }: KnownTarget): boolean {
  return maySee(principal, { id: holder.id, personId })
}

/** A target of the caller; for an administrator, of any person. Throws ParleyError `not_found`. */
function found({ targets }: Pick<TargetsParts, 'targets'>, principal: Principal, id: string): KnownTarget {
  const target = targets().find((one) => one.id === id)
  if (target && isShownTo(principal, target)) return target
  throw new ParleyError('not_found', `There is no target ${id}. List the targets to see their ids.`)
}

/** Like `found`. Throws ParleyError `forbidden` if the browser or token that added the target has more rights. */
async function changeable(parts: TargetsParts, principal: Principal, id: string): Promise<KnownTarget> {
  const target = found(parts, principal, id)
  const { personId, holder } = target.data
  const adder = holder.id === principal.id ? undefined : await parts.principalOf(holder)
  if (adder) {
    const { scopes, limits } = adder
    expectRevocable(principal, { id: holder.id, personId, scopes: [...scopes], ...defined({ limits }) })
  }
  return target
}

function shownTo({ kind, id }: Principal, target: KnownTarget, last: unknown): Target {
  const { holder } = target.data
  const isOwn = target.data.kind === 'push' && holder.kind === kind && holder.id === id
  return { ...shownTarget(target, last), ...(isOwn && { current: true as const }) }
}

/** The data of a new target. Throws a ParleyError if the principal may not add it. */
function dataOf(principal: Principal, given: NewTarget): TargetData {
  const { person, kind: holderKind, id, name } = principal
  if (given.kind !== 'push') expectScopes(principal, ['admin'])
  if (holderKind !== 'device' && (holderKind !== 'token' || given.kind === 'push'))
    throw new ParleyError(
      'forbidden',
      given.kind === 'push'
        ? 'Only a signed-in browser can add itself as a target.'
        : 'Targets are added by a signed-in browser or a token of this server.',
    )
  const { alerts = AlertKind.options, detail = 'title' } = given
  const common = { personId: person.id, holder: { kind: holderKind, id }, alerts: [...alerts], detail }
  if (given.kind === 'push') {
    checkSubscriptionKeys(given.keys)
    return { kind: 'push', name: given.name ?? name, url: given.endpoint, keys: given.keys, ...common }
  }
  const { url } = given
  const named = { name: given.name ?? (URL.canParse(url) ? new URL(url).host : url), url, ...common }
  if (given.kind === 'webhook')
    return { kind: 'webhook', secret: `whsec_${randomBytes(32).toString('base64')}`, ...named }
  if (URL.canParse(url) && /^\/+$/.test(new URL(url).pathname))
    throw new ParleyError(
      'validation_error',
      'The address of an ntfy topic ends with its name, as in https://ntfy.sh/topic.',
    )
  return { kind: 'ntfy', ...defined({ secret: given.token }), ...named }
}

function refuseTooMany(targets: readonly KnownTarget[], { personId }: TargetData): void {
  const own = targets.filter(({ data }) => data.personId === personId)
  if (targets.length < maxTargets && own.length < maxOfPerson) return
  throw new ParleyError('conflict', `You already have ${own.length} targets. Remove one first.`)
}
