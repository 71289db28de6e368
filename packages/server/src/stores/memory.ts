import {
  defined,
  type OpenBlock,
  type PermissionRule,
  type SessionState,
  summarise,
  type TrustedFolder,
} from '@parley/protocol'
import type { AccessRecord, AccessStore } from '../core/access-store.ts'
import type { AlertStore } from '../core/alert-store.ts'
import type { DecisionLinkStore } from '../core/decision-link-store.ts'
import type { LedgerDraft, LedgerStore } from '../core/ledger-store.ts'
import type { AppendBatch, SessionStore, StoredEnvironment, StoredReceipt } from '../core/session-store.ts'
import type { ViewedStore } from '../core/viewed-store.ts'
import { createMemoryAlerts } from './memory-alerts.ts'
import { createMemoryDecisionLinks } from './memory-decision-links.ts'
import { createMemoryLedger } from './memory-ledger.ts'
import { createMemoryProjects } from './memory-projects.ts'
import { createMemoryViewed } from './memory-viewed.ts'
import { receiptTaken, refuseGap, sessionTaken, sessionUnknown } from './refusals.ts'
import {
  compareAges,
  comparePlaces,
  conversationOf,
  isUnsettled,
  isWithinLimits,
  readCursor,
  searchText,
  searchWords,
  withProject,
  writeCursor,
} from './session-listing.ts'

type Kept = {
  readonly epoch: string
  /** The event with seq n is at index n - 1. */
  readonly events: string[]
  state: SessionState
  /** The project, which the state of an older session does not contain. */
  project: string | undefined
  readonly receipts: Map<string, StoredReceipt>
  readonly checkpoints: Map<string, OpenBlock>
}

/** Keeps sessions in memory until the process ends. For tests, and for hosts that need no file. */
export function createMemoryStore(): SessionStore &
  AccessStore &
  AlertStore &
  DecisionLinkStore &
  LedgerStore &
  ViewedStore {
  const sessions = new Map<string, Kept>()
  const rules = new Map<string, PermissionRule>()
  const environments = new Map<string, StoredEnvironment>()
  const alerts = createMemoryAlerts(sessions)
  const links = createMemoryDecisionLinks()
  const ledger = createMemoryLedger()
  const viewed = createMemoryViewed((sessionId) => sessions.has(sessionId))
  return {
    ...logMethods(sessions, rules, ledger.queue, (sessionId) => {
      alerts.forgetUnsent(sessionId)
      links.forget(sessionId)
    }),
    ...listMethods(sessions),
    async delete(sessionId, _, drafts = []) {
      for (const rule of rules.values()) if (rule.sessionId === sessionId) rules.delete(rule.ruleId)
      environments.delete(`session ${sessionId}`)
      alerts.forget(sessionId)
      links.forget(sessionId)
      viewed.forget(sessionId)
      const isDeleted = sessions.delete(sessionId)
      if (isDeleted) ledger.queue(drafts)
      return isDeleted
    },
    ...createMemoryProjects(sessions),
    ...ruleMethods(rules),
    ...trustMethods(),
    ...environmentMethods(environments),
    ...accessMethods(),
    ...alerts.methods,
    ...links.methods,
    ...ledger.store,
    ...viewed.methods,
    async close() {},
  }
}

type LogMethods = Pick<
  SessionStore,
  'create' | 'append' | 'redact' | 'read' | 'load' | 'receipt' | 'checkpoint' | 'checkpoints'
>

function logMethods(
  sessions: Map<string, Kept>,
  rules: Map<string, PermissionRule>,
  queue: (drafts: readonly LedgerDraft[]) => void,
  redacted: (sessionId: string) => void,
): LogMethods {
  const find = (sessionId: string): Kept => {
    const kept = sessions.get(sessionId)
    if (!kept) throw sessionUnknown(sessionId)
    return kept
  }
  return {
    async create(batch) {
      const { sessionId, epoch, state } = batch
      if (sessions.has(sessionId)) throw sessionTaken(sessionId)
      const { project } = state
      const kept: Kept = { epoch, events: [], state, project, receipts: new Map(), checkpoints: new Map() }
      write(batch, kept, rules)
      queue(batch.ledger ?? [])
      sessions.set(sessionId, kept)
    },
    async append(batch) {
      write(batch, find(batch.sessionId), rules)
      queue(batch.ledger ?? [])
    },
    async redact({ sessionId, events, epoch, state, ledger = [] }) {
      const kept = find(sessionId)
      for (const { seq } of events)
        if (seq < 1 || seq > kept.events.length) throw new RangeError(`There is no event ${seq}.`)
      for (const { seq, json } of events) kept.events[seq - 1] = json
      for (const [id, receipt] of kept.receipts)
        kept.receipts.set(id, { ...receipt, hash: receipt.hash.replace(/^[^ ]*/, '') })
      sessions.set(sessionId, { ...kept, epoch, state: copy(state) })
      redacted(sessionId)
      queue(ledger)
    },
    async read(sessionId, { after = 0, before = Number.POSITIVE_INFINITY, limit }) {
      const events = sessions.get(sessionId)?.events ?? []
      const last = Math.min(before - 1, events.length)
      const first = before === Number.POSITIVE_INFINITY ? after + 1 : Math.max(after + 1, last - limit + 1)
      const start = Math.max(first, 1) - 1
      const end = Math.max(Math.min(last, start + limit), start)
      return events.slice(start, end).map((json, index) => ({ seq: start + index + 1, json }))
    },
    async load(sessionId) {
      const kept = sessions.get(sessionId)
      return kept && { head: kept.events.length, epoch: kept.epoch, state: copy(stateOf(kept)) }
    },
    async receipt(sessionId, commandId) {
      const receipt = sessions.get(sessionId)?.receipts.get(commandId)
      return receipt && copy(receipt)
    },
    async checkpoint(sessionId, blocks) {
      const { checkpoints } = find(sessionId)
      for (const block of blocks) checkpoints.set(block.id, copy(block))
    },
    async checkpoints(sessionId) {
      return [...(sessions.get(sessionId)?.checkpoints.values() ?? [])].map(copy)
    },
  }
}

function stateOf({ state, project }: Kept): SessionState {
  return withProject(state, project)
}

function write(batch: AppendBatch, kept: Kept, rules: Map<string, PermissionRule>): void {
  const { events, state, receipt } = batch
  refuseGap(batch, kept.events.length)
  if (receipt && kept.receipts.has(receipt.commandId)) throw receiptTaken(receipt.commandId)
  for (const blockId of batch.closedBlocks ?? []) kept.checkpoints.delete(blockId)
  if (state) {
    kept.state = copy(state)
    if (!state.turn) kept.checkpoints.clear()
  }
  for (const { json } of events) kept.events.push(json)
  if (receipt) kept.receipts.set(receipt.commandId, copy(receipt))
  for (const rule of batch.rules ?? []) rules.set(rule.ruleId, copy(rule))
}

type ListMethods = Pick<SessionStore, 'list' | 'sessionsOf' | 'unsettled' | 'waiting'>

function listMethods(sessions: ReadonlyMap<string, Kept>): ListMethods {
  const states = () => [...sessions.values()].map(stateOf)
  return {
    async list({ q, agent, status, archived, project, inRound, within, limit, cursor }) {
      const words = searchWords(q)
      const place = cursor === undefined ? undefined : readCursor(cursor)
      const found = states()
        .filter((state) => agent === undefined || state.agent === agent)
        .filter((state) => status === undefined || state.status === status)
        .filter((state) => archived === undefined || state.archived === archived)
        .filter((state) => project === undefined || state.project === project.project)
        .filter((state) => !inRound || state.round !== undefined)
        .filter((state) => !within || isWithinLimits(within, state))
        .filter((state) => words.every((word) => searchText(state).includes(word)))
        .filter((state) => !place || comparePlaces(place, state) < 0)
        .sort(comparePlaces)
      const page = found.slice(0, limit)
      const last = page.at(-1)
      return {
        sessions: page.map((state) => copy(summarise(state))),
        ...(last && found.length > limit && { cursor: writeCursor(last) }),
      }
    },
    async sessionsOf(agent, agentSessionIds) {
      const wanted = new Set(agentSessionIds)
      const found = new Map<string, SessionState>()
      for (const state of states()) {
        const agentSessionId = conversationOf(state)
        if (state.agent !== agent || agentSessionId === undefined || !wanted.has(agentSessionId)) continue
        const other = found.get(agentSessionId)
        if (!other || compareAges(state, other) < 0) found.set(agentSessionId, state)
      }
      return new Map([...found].map(([agentSessionId, { id }]) => [agentSessionId, id]))
    },
    async unsettled() {
      return [...sessions].filter(([, { state }]) => isUnsettled(state)).map(([id]) => id)
    },
    async waiting() {
      return states()
        .filter((state) => state.requests.length > 0)
        .sort((a, b) => waitingSince(a) - waitingSince(b) || comparePlaces(a, b))
        .map(copy)
    },
  }
}

function ruleMethods(
  rules: Map<string, PermissionRule>,
): Pick<SessionStore, 'rules' | 'addRule' | 'removeRule'> {
  return {
    rules: async () => [...rules.values()].map(copy),
    addRule: async (rule) => void rules.set(rule.ruleId, copy(rule)),
    removeRule: async (ruleId) => rules.delete(ruleId),
  }
}

function trustMethods(): Pick<SessionStore, 'trustedFolders' | 'trustFolder' | 'distrustFolder'> {
  const trusted = new Map<string, TrustedFolder>()
  return {
    trustedFolders: async () => [...trusted.values()].map(copy),
    trustFolder: async (given) => void trusted.set(given.folder, copy(given)),
    distrustFolder: async (folder) => trusted.delete(folder),
  }
}

function environmentMethods(
  environments: Map<string, StoredEnvironment>,
): Pick<SessionStore, 'environments' | 'setEnvironment'> {
  return {
    environments: async () => [...environments.values()].map(copy),
    async setEnvironment(given) {
      const key = `${given.scope} ${given.place}`
      if (Object.keys(given.variables).length === 0) environments.delete(key)
      else environments.set(key, copy(given))
    },
  }
}

function accessMethods(): AccessStore {
  const records = new Map<string, AccessRecord>()
  const keyOf = (kind: string, id: string) => `${kind} ${id}`
  return {
    accessRecords: async () => [...records.values()].map(copy),
    async putAccessRecord(record) {
      const key = keyOf(record.kind, record.id)
      const before = records.get(key)
      const { usedAt, retiredAt, ...rest } = copy(record)
      const kept = { usedAt: before ? before.usedAt : usedAt, retiredAt: before?.retiredAt ?? retiredAt }
      records.set(key, { ...rest, ...defined(kept) })
    },
    async retireAccessRecord(kind, id, retiredAt) {
      const record = records.get(keyOf(kind, id))
      if (!record || record.retiredAt !== undefined) return false
      records.set(keyOf(kind, id), { ...record, retiredAt })
      return true
    },
    async touchAccessRecord(kind, id, usedAt) {
      const record = records.get(keyOf(kind, id))
      if (record) records.set(keyOf(kind, id), { ...record, usedAt })
    },
    removeAccessRecord: async (kind, id) => records.delete(keyOf(kind, id)),
  }
}

/** A deep copy that contains only JSON values, like a value from a database. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function waitingSince(state: SessionState): number {
  return state.requests[0]?.at ?? Number.POSITIVE_INFINITY
}
