import { allScopes, defined, roleScopes, type Scope } from '@parley/protocol'
import type { AccessKind, AccessRecord, AccessStore } from '../core/access-store.ts'
import { isOver, type Principal } from './principal.ts'
import { DeviceData, type GrantData, ownerId, PersonData, TokenData } from './record-data.ts'

/** A device or a token, with the open connections that use it. */
export type Holder<Data extends GrantData = GrantData> = {
  readonly kind: 'device' | 'token'
  readonly id: string
  record: AccessRecord
  data: Data
  readonly held: Set<() => void>
  expiry?: NodeJS.Timeout
  /** The last computed principal, and the record of the person from which it was computed. */
  derived?: {
    readonly person: AccessRecord
    readonly data: Data
    readonly principal: Principal
    caller?: Caller
  }
}

/** The sender of a request. */
export type Caller = {
  readonly kind: 'token' | 'device' | 'node' | 'embedded'
  readonly principal: Principal
  readonly isRevoked: boolean
  /**
   * True if the access was revoked. If this process may have missed a revocation, it reads the stored records first.
   * Rejects with ParleyError `busy` if the records cannot be read.
   */
  isSignedOut(): Promise<boolean>
  /**
   * If this process may have missed a revocation, calls the callbacks of `onRevoked` before `notice` returns.
   * Otherwise does nothing.
   */
  notice(): void
  /**
   * Registers a callback that is called when the access is revoked. It is also called, with `isRevoked` false, when
   * the client must connect again: its rights have changed, or this process may miss revocations from now on. Returns
   * a function that removes the callback.
   */
  onRevoked(call: () => void): () => void
}

/**
 * The principals that may decide: every principal with the scope `decide`, or only browsers, because programs can read
 * tokens from disk.
 */
export type DecideFrom = 'anywhere' | 'devices'

const seenEveryMs = 60_000
/** The longest delay that a timer of Node accepts. */
const longestTimerMs = 2 ** 31 - 1

/**
 * A copy in memory of the people, devices and tokens of a store. It computes the principal of each device and token,
 * and closes the connections of those that are revoked.
 */
export class Holders {
  readonly #store: AccessStore
  readonly #ownerName: string
  readonly #decideFrom: DecideFrom
  readonly #people = new Map<string, AccessRecord>()
  readonly #holders = new Map<string, Holder>()
  readonly #reloaded: (() => void)[] = []
  readonly #added: ((holder: Holder) => void)[] = []
  #loading: Promise<void> | undefined
  #isLoaded = false

  constructor(store: AccessStore, ownerName: string, decideFrom: DecideFrom = 'anywhere') {
    this.#store = store
    this.#ownerName = ownerName
    this.#decideFrom = decideFrom
    store.shared?.onChanged(async () => {
      if (this.#loading) await this.#loading.then(() => this.#read())
    })
    store.shared?.onLost(() => {
      for (const { held } of this.#holders.values()) callAll(held)
    })
  }

  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /**
   * True if the other processes wait until this one has applied a change. This process then learns of every
   * revocation.
   */
  get isWaitedFor(): boolean {
    return this.#store.shared?.isWaitedFor !== false
  }

  /** Calls the listener after each reading of the store. */
  onRead(listener: () => void): void {
    this.#reloaded.push(listener)
  }

  /** Calls the listener with each device and token that is created from now on, by any process. */
  onAdded(listener: (holder: Holder) => void): void {
    this.#added.push(listener)
  }

  load(): Promise<void> {
    this.#loading ??= this.#read()
    this.#loading.catch(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  /** Reads the stored records, so that a change is based on the changes that other processes have stored. */
  async reload(): Promise<void> {
    await this.load()
    await this.#read()
  }

  /** Loads the records. If this process does not learn of every revocation, reads the stored changes too. */
  async upToDate(): Promise<void> {
    await this.load()
    if (!this.isWaitedFor) await this.#read()
  }

  people(): readonly AccessRecord[] {
    return [...this.#people.values()]
  }

  person(personId: string): AccessRecord | undefined {
    return this.#people.get(personId)
  }

  get owner(): Principal['person'] {
    const { name = this.#ownerName } = (this.#people.get(ownerId)?.data ?? {}) as Partial<PersonData>
    return { id: ownerId, name }
  }

  get(kind: AccessKind, id: string): Holder | undefined {
    return this.#holders.get(`${kind} ${id}`)
  }

  all(kind: AccessKind): Holder[] {
    return [...this.#holders.values()].filter((holder) => holder.kind === kind)
  }

  /** The scopes of the device or token that the role of its person permits. */
  scopesOf({ data }: Holder): Scope[] {
    const person = this.#people.get(data.personId)?.data as PersonData | undefined
    return person ? roleScopes[person.role].filter((scope) => data.scopes.includes(scope)) : []
  }

  /** The principal of the device or token; undefined if it is revoked or expired, or its person is disabled. */
  principalOf(holder: Holder): Principal | undefined {
    const { record, data, derived } = holder
    if (record.retiredAt !== undefined || isExpired(data)) return undefined
    const person = this.#people.get(data.personId)
    if (!person) return undefined
    if (derived?.person === person && derived.data === data) return derived.principal
    const { name, disabledAt } = person.data as PersonData
    if (disabledAt !== undefined) return undefined
    const { kind, id } = holder
    const { limits, expiresAt } = data
    const publicKey = 'publicKey' in data ? data.publicKey : undefined
    const about = { person: { id: person.id, name }, kind, id, name: data.name }
    const given = {
      ...about,
      scopes: new Set(this.scopesOf(holder)),
      ...defined({ limits, expiresAt, publicKey }),
    }
    const principal = decidingFrom(this.#decideFrom, given)
    holder.derived = { person, data, principal }
    return principal
  }

  /** True if the device or token is revoked or expired. Its record is kept only to report the reason. */
  isOver({ record, data }: Holder): boolean {
    return record.retiredAt !== undefined || isExpired(data)
  }

  callerOf(holder: Holder): Caller | undefined {
    const principal = this.principalOf(holder)
    if (!principal || !holder.derived) return undefined
    this.#touch(holder)
    holder.derived.caller ??= this.#newCaller(holder, principal)
    return holder.derived.caller
  }

  #newCaller(holder: Holder, principal: Principal): Caller {
    const isRevoked = () => holder.record.retiredAt !== undefined || this.principalOf(holder) === undefined
    return {
      kind: holder.kind,
      principal,
      get isRevoked() {
        return isRevoked()
      },
      isSignedOut: async () => {
        await this.upToDate()
        return isRevoked()
      },
      notice: () => void this.isWaitedFor,
      onRevoked: (call) => {
        holder.held.add(call)
        this.#cutAtExpiry(holder)
        return () => holder.held.delete(call)
      },
    }
  }

  /** Stores a record, and applies it here and in all other processes. */
  async put(record: AccessRecord): Promise<void> {
    await this.#store.putAccessRecord(record)
    this.#apply(record)
    await this.#store.shared?.changed()
  }

  /** When this resolves, the device or token is refused and its connections are closed. */
  async retire(holder: Holder): Promise<void> {
    const { kind, id, record } = holder
    const at = record.retiredAt ?? Date.now()
    holder.record = { ...record, retiredAt: at }
    callAll(holder.held)
    await this.#store.retireAccessRecord(kind, id, at)
    await this.#store.shared?.changed()
  }

  async forget({ kind, id }: Holder): Promise<void> {
    await this.#store.removeAccessRecord(kind, id)
    this.#holders.delete(`${kind} ${id}`)
  }

  async #read(): Promise<void> {
    let records = await this.#store.accessRecords()
    if (!records.some(({ kind }) => kind === 'person')) {
      const data = { name: this.#ownerName, role: 'admin' }
      const owner = { kind: 'person', id: ownerId, data, createdAt: Date.now() } as const
      await this.#store.putAccessRecord(owner)
      records = [owner, ...records]
    }
    const keys = new Set(records.map(({ kind, id }) => `${kind} ${id}`))
    for (const record of records.filter(({ kind }) => kind === 'person')) this.#apply(record)
    for (const record of records.filter(({ kind }) => kind !== 'person')) this.#apply(record)
    for (const [key, holder] of this.#holders) {
      if (keys.has(key)) continue
      holder.record = { ...holder.record, retiredAt: Date.now() }
      callAll(holder.held)
      this.#holders.delete(key)
    }
    this.#isLoaded = true
    for (const listener of this.#reloaded) listener()
  }

  /** Replaces the copy of a record. Connections whose rights change are closed: their clients connect again. */
  #apply(record: AccessRecord): void {
    if (record.kind === 'person') return this.#applyPerson(record)
    const schema = record.kind === 'device' ? DeviceData : record.kind === 'token' ? TokenData : undefined
    const data = schema?.safeParse(record.data).data
    // A damaged record gives no access.
    if (!schema || !data) return
    const key = `${record.kind} ${record.id}`
    const holder = this.#holders.get(key)
    if (!holder) {
      const kind = record.kind as Holder['kind']
      const added: Holder = { kind, id: record.id, record, data, held: new Set() }
      this.#holders.set(key, added)
      if (this.#isLoaded) for (const listener of this.#added) listener(added)
      return
    }
    const isSame = JSON.stringify(holder.data) === JSON.stringify(data)
    // The record may have been read before this process revoked the holder. A revocation is final.
    const { usedAt = 0, retiredAt = record.retiredAt } = holder.record
    holder.record = { ...record, ...((record.usedAt ?? 0) < usedAt && { usedAt }), ...defined({ retiredAt }) }
    if (!isSame) holder.data = data
    if (!isSame || record.retiredAt !== undefined) callAll(holder.held)
  }

  #applyPerson(record: AccessRecord): void {
    const data = PersonData.safeParse(record.data).data
    if (!data) return
    const before = this.#people.get(record.id)
    if (before && JSON.stringify(before.data) === JSON.stringify(data)) return
    this.#people.set(record.id, { ...record, data })
    if (!before) return
    for (const holder of this.#holders.values()) if (holder.data.personId === record.id) callAll(holder.held)
  }

  /** Stores the time of last use, at most once in `seenEveryMs`. The write may be lost: nothing depends on it. */
  #touch(holder: Holder): void {
    const at = Date.now()
    if (Math.abs(at - (holder.record.usedAt ?? 0)) < seenEveryMs) return
    holder.record = { ...holder.record, usedAt: at }
    void this.#store.touchAccessRecord(holder.kind, holder.id, at).catch(() => undefined)
  }

  #cutAtExpiry(holder: Holder): void {
    const { expiresAt } = holder.data
    if (expiresAt === undefined || holder.expiry) return
    const cut = () => {
      delete holder.expiry
      if (isExpired(holder.data)) callAll(holder.held)
      else if (holder.held.size > 0) this.#cutAtExpiry(holder)
    }
    holder.expiry = setTimeout(cut, Math.min(Math.max(expiresAt - Date.now(), 0), longestTimerMs)).unref()
  }
}

function isExpired({ expiresAt }: GrantData): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now()
}

function callAll(held: Set<() => void>): void {
  const calls = [...held]
  held.clear()
  for (const call of calls) call()
}

/** Removes the scope decide from a token if the server accepts decisions only from devices. */
function decidingFrom(decideFrom: DecideFrom, principal: Principal): Principal {
  if (decideFrom === 'anywhere' || principal.kind !== 'token') return principal
  const scopes = new Set([...principal.scopes].filter((scope) => scope !== 'decide'))
  return { ...principal, scopes, isBarredFromDeciding: true }
}

/** The id of the server's own token as an actor. */
export const machineId = 'tok_machine'

/** The principal of a program that has the server's own token. */
export function machinePrincipal(person: Principal['person'], decideFrom: DecideFrom): Principal {
  const own = { person, kind: 'token', id: machineId, name: 'this machine' } as const
  return decidingFrom(decideFrom, { ...own, scopes: new Set(allScopes) })
}

/** A caller without a stored record. Its access ends when its principal expires or its signal aborts. */
export function unstoredCaller(kind: Caller['kind'], principal: Principal): Caller {
  const isRevoked = () => isOver(principal)
  return {
    kind,
    principal,
    get isRevoked() {
      return isRevoked()
    },
    isSignedOut: async () => isRevoked(),
    notice: () => {},
    onRevoked: (call) => whenOver(principal, call),
  }
}

/** Calls `call` when the principal expires or its signal aborts. Returns a function that cancels the call. */
function whenOver({ expiresAt, signal }: Principal, call: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    if (expiresAt === undefined) return
    const left = expiresAt - Date.now()
    timer = setTimeout(left <= 0 ? call : wait, Math.min(Math.max(left, 0), longestTimerMs)).unref()
  }
  wait()
  signal?.addEventListener('abort', call, { once: true })
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', call)
  }
}
