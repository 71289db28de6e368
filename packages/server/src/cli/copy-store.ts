import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { defined, Limits, ParleyError, type PermissionRule, type TrustedFolder } from '@parley/protocol'
import { newPushKey } from '../alerts/web-push.ts'
import { readEvents } from '../core/index.ts'
import type { TransferStore } from '../stores/transfer.ts'

/**
 * Copies all data from one store into another, and compares both stores. A repeated copy has no effect. Deliveries of
 * alerts and decision links are not copied.
 */

export type CopyParts = {
  readonly source: TransferStore
  readonly target: TransferStore
  /** The settings that are written to the target. */
  readonly settings: StoreSettings
  /** Called after each page. */
  readonly progress: (counts: CopyCounts) => void
}

export type CopyCounts = { sessions: number; events: number; receipts: number }

/** The number of rows that are held in memory at once. */
const pageSize = 100
const ledgerPage = 1000
/** More than the number of drafts that can be queued when a server ends. */
const maxQueued = 1_000_000
/** The maximum number of bytes of events that are written at once, unless a single event is larger. */
const batchBytes = 4 * 1024 * 1024

export async function copyStore({ source, target, settings, progress }: CopyParts): Promise<CopyCounts> {
  const counts = { sessions: 0, events: 0, receipts: 0 }
  await refuseUnknownSessions(source, target)
  for await (const id of sessionIds(source)) {
    await copySession({ source, target, progress, counts }, id)
    counts.sessions++
    progress(counts)
  }
  await copySettings(target, settings)
  await copyLedger(source, target)
  await copyPushKey(source, target)
  return counts
}

async function copyLedger(source: TransferStore, target: TransferStore): Promise<void> {
  for (const key of await source.sealKeys()) await target.addSealKey(key)
  for (;;) {
    const last = await target.lastOfLedger()
    const entries = await source.ledger({ after: last?.n, limit: ledgerPage })
    if (entries.length === 0) break
    await target.chainLedger(entries, [])
  }
  const queued = await source.queuedLedger(maxQueued)
  const copied = (await target.queuedLedger(maxQueued)).length
  await target.queueLedger(queued.slice(copied).map(({ draft }) => draft))
}

async function compareLedgers(source: TransferStore, target: TransferStore): Promise<void> {
  const facts = async (store: TransferStore) => ({
    keys: await store.sealKeys(),
    last: await store.lastOfLedger(),
    queued: (await store.queuedLedger(maxQueued)).map(({ draft }) => draft),
  })
  if (!isDeepStrictEqual(await facts(source), await facts(target))) throw different('the ledger differs')
}

type Copying = Pick<CopyParts, 'source' | 'target' | 'progress'> & { readonly counts: CopyCounts }

async function copySession({ source, target, progress, counts }: Copying, sessionId: string): Promise<void> {
  const record = await source.load(sessionId)
  if (!record) throw changed(sessionId)
  const { head, epoch, state } = record
  const before = await target.load(sessionId)
  let isNew = before === undefined
  let copied = before?.head ?? 0
  counts.events += copied
  while (copied < head || isNew) {
    const page = await readEvents(source, sessionId, { after: copied, limit: pageSize })
    if (page.length === 0 && copied < head) throw changed(sessionId)
    const events = firstBytes(page)
    if (isNew) await target.create({ sessionId, epoch, state, events })
    else await target.append({ sessionId, events })
    isNew = false
    copied += events.length
    counts.events += events.length
    progress(counts)
  }
  // Replaces the older state and removes the older checkpoints that an interrupted copy may have left.
  const stale = before ? await target.checkpoints(sessionId) : []
  if (before) await target.append({ sessionId, events: [], state, closedBlocks: stale.map(({ id }) => id) })
  for await (const receipts of receiptPages(source, sessionId)) {
    await target.putReceipts(sessionId, receipts)
    counts.receipts += receipts.length
  }
  await copyCursor(source, target, sessionId)
  const blocks = await source.checkpoints(sessionId)
  if (blocks.length > 0) await target.checkpoint(sessionId, blocks)
}

/** Without its cursor, the log would be searched again, and alerts that were sent would be sent again. */
async function copyCursor(source: TransferStore, target: TransferStore, session: string): Promise<void> {
  const to = await source.alertCursor(session)
  const from = await target.alertCursor(session)
  if (to !== undefined && to !== from) await target.addAlerts({ session, from, to, deliveries: [] })
}

function firstBytes<Event extends { readonly json: string }>(page: readonly Event[]): Event[] {
  let bytes = 0
  return page.filter(({ json }, index) => {
    bytes += Buffer.byteLength(json)
    return index === 0 || bytes <= batchBytes
  })
}

/** Throws if the target, whose copy was interrupted, has sessions that the source does not have. */
async function refuseUnknownSessions(source: TransferStore, target: TransferStore): Promise<void> {
  for await (const id of sessionIds(target)) {
    const [there, here] = [await target.load(id), await source.load(id)]
    if (!here || here.epoch !== there?.epoch || here.head < there.head)
      throw new ParleyError(
        'conflict',
        `The target is the unfinished copy of another source, or the source has changed: session ${id} differs. Remove the target first.`,
      )
  }
}

/** Compares the stores. Throws a ParleyError that names the first difference. */
export async function compareStores({ source, target, settings, progress }: CopyParts): Promise<void> {
  const counts = { sessions: 0, events: 0, receipts: 0 }
  for await (const id of sessionIds(source)) {
    await compareSession({ source, target, progress, counts }, id)
    counts.sessions++
    progress(counts)
  }
  let found = 0
  for await (const _ of sessionIds(target)) found++
  if (found !== counts.sessions) throw different(`the target has ${found} sessions, not ${counts.sessions}`)
  await compareLedgers(source, target)
  const stored = await readSettings(target)
  for (const name of Object.keys(settings) as (keyof StoreSettings)[])
    if (!isDeepStrictEqual(stored[name], settings[name])) throw different(`the ${names[name]} differ`)
}

async function compareSession({ source, target, progress, counts }: Copying, id: string): Promise<void> {
  const [here, there] = [await source.load(id), await target.load(id)]
  if (!here || !there) throw different(`session ${id} is missing`)
  const facts = ({ head, epoch, state }: typeof here) => ({ head, epoch, state })
  if (!isDeepStrictEqual(facts(here), facts(there))) throw different(`the state of session ${id} differs`)
  for (let after = 0; after < here.head; ) {
    const range = { after, limit: pageSize }
    const [expected, stored] = [await readEvents(source, id, range), await readEvents(target, id, range)]
    for (const [index, { seq, json }] of expected.entries()) {
      const event = stored[index]
      if (event?.seq !== seq || event.json !== json) throw different(`event ${seq} of session ${id} differs`)
    }
    if (expected.length === 0 || stored.length !== expected.length)
      throw different(`session ${id} has different events after ${after}`)
    after += expected.length
    counts.events += expected.length
    progress(counts)
  }
  if ((await receiptsDigest(source, id)) !== (await receiptsDigest(target, id)))
    throw different(`the receipts of session ${id} differ`)
  if ((await source.alertCursor(id)) !== (await target.alertCursor(id)))
    throw different(`the cursor of the alerts of session ${id} differs`)
  if (!isDeepStrictEqual(await source.checkpoints(id), await target.checkpoints(id)))
    throw different(`the checkpoints of session ${id} differ`)
}

/** A digest of the receipts of a session that does not depend on their order. */
async function receiptsDigest(store: TransferStore, sessionId: string): Promise<string> {
  const sum = new BigUint64Array(4)
  let count = 0
  for await (const receipts of receiptPages(store, sessionId))
    for (const { commandId, hash, receipt } of receipts) {
      const text = JSON.stringify([commandId, hash, receipt])
      const digest = createHash('sha256').update(text).digest()
      for (const index of sum.keys()) sum[index] = (sum[index] ?? 0n) + digest.readBigUInt64LE(index * 8)
      count++
    }
  return `${count} ${sum.join(' ')}`
}

async function* receiptPages(store: TransferStore, sessionId: string) {
  for (let after: string | undefined; ; ) {
    const page = await store.receipts(sessionId, { ...(after !== undefined && { after }), limit: pageSize })
    if (page.receipts.length === 0) return
    yield page.receipts
    after = page.next
  }
}

export async function* sessionIds(store: TransferStore): AsyncGenerator<string> {
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ ...(cursor !== undefined && { cursor }), limit: pageSize })
    for (const { id } of page.sessions) yield id
    if (page.cursor === undefined) return
    cursor = page.cursor
  }
}

/** The settings that apply to more than one session. The values of variables are secrets. */
export type StoreSettings = {
  readonly rules: readonly PermissionRule[]
  readonly folders: readonly TrustedFolder[]
  readonly environments: Awaited<ReturnType<TransferStore['environments']>>
  readonly access: Awaited<ReturnType<TransferStore['accessRecords']>>
  readonly targets: Awaited<ReturnType<TransferStore['targets']>>
  readonly projects: Awaited<ReturnType<TransferStore['projectSettings']>>
}

const names: Readonly<Record<keyof StoreSettings, string>> = {
  rules: 'rules',
  folders: 'trusted folders',
  environments: 'environment variables',
  access: 'people, devices and tokens',
  targets: 'targets of alerts',
  projects: 'settings of projects',
}

export async function readSettings(store: TransferStore): Promise<StoreSettings> {
  return {
    rules: await store.rules(),
    folders: await store.trustedFolders(),
    environments: await store.environments(),
    access: await store.accessRecords(),
    targets: await store.targets(),
    projects: await store.projectSettings(),
  }
}

/** Adds the place to the settings of folders, for a store in which these settings have a place. */
export function settingsAt(place: string, settings: StoreSettings): StoreSettings {
  const { rules, folders, environments, access, projects, ...rest } = settings
  return {
    ...rest,
    projects: projects.map((one) => ({ ...one, place })),
    access: access.map((record) => withFolders(record, (one) => ({ ...one, place }))),
    rules: rules.map((rule) => (rule.project === undefined ? rule : { ...rule, place })),
    folders: folders.map((folder) => ({ ...folder, place })),
    environments: environments.map((one) => (one.scope === 'folder' ? { ...one, at: place } : one)),
  }
}

/**
 * The settings of this place, for a store without places. A folder of another machine is another folder, even if its
 * path is the same.
 */
export function settingsOf(place: string, settings: StoreSettings): StoreSettings {
  const { rules, folders, environments, access, projects, ...rest } = settings
  const isHere = (at: string | undefined) => at === undefined || at === place
  // A limit to a folder of another machine is kept: without the limit, the token would have access to every folder.
  const here = ({ place: at, ...one }: LimitedFolder) =>
    isHere(at) ? one : { ...one, ...defined({ place: at }) }
  return {
    ...rest,
    projects: projects.filter(({ place: at }) => isHere(at)).map(({ place: _, ...one }) => one),
    access: access.map((record) => withFolders(record, here)),
    rules: rules.filter((rule) => isHere(rule.place)).map(({ place: _, ...rule }) => rule),
    folders: folders.filter((folder) => isHere(folder.place)).map(({ place: _, ...folder }) => folder),
    environments: environments.filter(({ at }) => isHere(at)).map(({ at: _, ...one }) => one),
  }
}

type AccessRecord = StoreSettings['access'][number]

type LimitedFolder = { readonly folder: string; readonly place?: string | undefined }

/** A copy of the record of a browser or a token, with changed limits to folders. */
function withFolders(record: AccessRecord, change: (one: LimitedFolder) => LimitedFolder): AccessRecord {
  const limits = Limits.safeParse(record.data.limits).data
  if (!limits?.folders) return record
  return { ...record, data: { ...record.data, limits: { ...limits, folders: limits.folders.map(change) } } }
}

export function countSettings(settings: StoreSettings): number {
  return Object.values(settings).reduce((sum, list) => sum + list.length, 0)
}

/**
 * Replaces the settings of the target, which an interrupted copy may have left, unless they equal `settings`. All
 * settings are removed and written again, because their order must be equal too.
 */
async function copySettings(target: TransferStore, settings: StoreSettings): Promise<void> {
  const before = await readSettings(target)
  if (isDeepStrictEqual(before, settings)) return
  for (const { ruleId } of before.rules) await target.removeRule(ruleId)
  for (const { folder, place } of before.folders) await target.distrustFolder(folder, place)
  for (const environment of before.environments)
    await target.setEnvironment({ ...environment, variables: {} })
  for (const { kind, id } of before.access) await target.removeAccessRecord(kind, id)
  for (const { id } of before.targets) await target.removeTarget(id)
  await target.setProjectSettings(before.projects.map((one) => ({ ...one, value: null })))
  for (const rule of settings.rules) await target.addRule(rule)
  for (const folder of settings.folders) await target.trustFolder(folder)
  for (const environment of settings.environments) await target.setEnvironment(environment)
  for (const record of settings.access) await target.putAccessRecord(record)
  for (const one of settings.targets) await target.putTarget(one)
  await target.setProjectSettings(settings.projects)
}

/** Copies the key of pushes, because subscriptions of browsers are valid only with the key of their creation. */
async function copyPushKey(source: TransferStore, target: TransferStore): Promise<void> {
  if ((await source.targets()).length === 0) return
  const key = await source.pushKey(newPushKey)
  if ((await target.pushKey(() => key)) !== key) throw different('the key that signs pushes differs')
}

function changed(sessionId: string): ParleyError {
  return new ParleyError('conflict', `Session ${sessionId} was changed while it was copied.`)
}

function different(what: string): ParleyError {
  return new ParleyError('conflict', `The copy is not equal to the source: ${what}.`)
}
