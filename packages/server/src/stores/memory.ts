import {
  type OpenBlock,
  type PermissionRule,
  type SessionState,
  summarise,
  type TrustedFolder,
} from '@parley/protocol'
import type { DeviceStore, StoredDevice } from '../core/device-store.ts'
import type {
  AppendBatch,
  CreateBatch,
  SessionStore,
  StoredEnvironment,
  StoredReceipt,
} from '../core/session-store.ts'
import { receiptTaken, refuseGap, sessionTaken, sessionUnknown } from './refusals.ts'
import {
  compareAges,
  comparePlaces,
  conversationOf,
  isUnsettled,
  readCursor,
  searchText,
  searchWords,
  writeCursor,
} from './session-listing.ts'

type Kept = {
  readonly epoch: string
  /** The event with seq n is at index n - 1. */
  readonly events: string[]
  state: SessionState
  readonly receipts: Map<string, StoredReceipt>
  readonly checkpoints: Map<string, OpenBlock>
}

/** Keeps sessions in memory while the process lives: for tests, and for hosts that need no file. */
export function createMemoryStore(): SessionStore & DeviceStore {
  const sessions = new Map<string, Kept>()
  const rules = new Map<string, PermissionRule>()
  const trusted = new Map<string, TrustedFolder>()
  const environments = new Map<string, StoredEnvironment>()
  const devices = new Map<string, StoredDevice>()

  const find = (sessionId: string): Kept => {
    const kept = sessions.get(sessionId)
    if (!kept) throw sessionUnknown(sessionId)
    return kept
  }
  const refuse = (batch: AppendBatch, kept: Kept): void => {
    refuseGap(batch, kept.events.length)
    const commandId = batch.receipt?.commandId
    if (commandId !== undefined && kept.receipts.has(commandId)) throw receiptTaken(commandId)
  }
  const write = (batch: AppendBatch, kept: Kept): void => {
    for (const blockId of batch.closedBlocks ?? []) kept.checkpoints.delete(blockId)
    if (batch.state) {
      kept.state = copy(batch.state)
      if (!batch.state.turn) kept.checkpoints.clear()
    }
    for (const { json } of batch.events) kept.events.push(json)
    if (batch.receipt) kept.receipts.set(batch.receipt.commandId, copy(batch.receipt))
    for (const rule of batch.rules ?? []) rules.set(rule.ruleId, copy(rule))
  }

  return {
    async create(batch: CreateBatch) {
      if (sessions.has(batch.sessionId)) throw sessionTaken(batch.sessionId)
      const kept: Kept = {
        epoch: batch.epoch,
        events: [],
        state: batch.state,
        receipts: new Map(),
        checkpoints: new Map(),
      }
      refuse(batch, kept)
      write(batch, kept)
      sessions.set(batch.sessionId, kept)
    },
    async append(batch) {
      const kept = find(batch.sessionId)
      refuse(batch, kept)
      write(batch, kept)
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
      return kept && { head: kept.events.length, epoch: kept.epoch, state: copy(kept.state) }
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

    async list({ q, agent, status, archived, limit, cursor }) {
      const words = searchWords(q)
      const place = cursor === undefined ? undefined : readCursor(cursor)
      const found = [...sessions.values()]
        .map(({ state }) => state)
        .filter((state) => agent === undefined || state.agent === agent)
        .filter((state) => status === undefined || state.status === status)
        .filter((state) => archived === undefined || state.archived === archived)
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
      for (const { state } of sessions.values()) {
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
      return [...sessions.values()]
        .map(({ state }) => state)
        .filter((state) => state.requests.length > 0)
        .sort((a, b) => waitingSince(a) - waitingSince(b) || comparePlaces(a, b))
        .map(copy)
    },
    async delete(sessionId) {
      for (const rule of rules.values()) if (rule.sessionId === sessionId) rules.delete(rule.ruleId)
      environments.delete(`session ${sessionId}`)
      return sessions.delete(sessionId)
    },

    async rules() {
      return [...rules.values()].map(copy)
    },
    async addRule(rule) {
      rules.set(rule.ruleId, copy(rule))
    },
    async removeRule(ruleId) {
      return rules.delete(ruleId)
    },

    async trustedFolders() {
      return [...trusted.values()].map(copy)
    },
    async trustFolder(given) {
      trusted.set(given.folder, copy(given))
    },
    async distrustFolder(folder) {
      return trusted.delete(folder)
    },

    async environments() {
      return [...environments.values()].map(copy)
    },
    async setEnvironment(given) {
      const key = `${given.scope} ${given.place}`
      if (Object.keys(given.variables).length === 0) environments.delete(key)
      else environments.set(key, copy(given))
    },

    async devices() {
      return [...devices.values()].map(copy)
    },
    async putDevice(device) {
      devices.set(device.deviceId, copy(device))
    },
    async removeDevice(deviceId) {
      return devices.delete(deviceId)
    },

    async close() {},
  }
}

/** A copy as from a database: nothing is shared, and only JSON values pass. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function waitingSince(state: SessionState): number {
  return state.requests[0]?.at ?? Number.POSITIVE_INFINITY
}
