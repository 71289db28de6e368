import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createClient } from '@parley/client'
import {
  type Round,
  type RouteName,
  routes,
  type SearchPage,
  type SessionState,
  type Terminal,
} from '@parley/protocol'
import { pino } from 'pino'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { fileTranscript } from '../adapters/scripted/transcript.ts'
import { whereServed } from '../nodes/where-served.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { type Parley, startParley } from './start.ts'

/**
 * Tests whole servers in one process: two nodes on one machine and a third node on another. Each request is
 * sent to the next node in turn.
 */

const postgres = await PostgresServer.forFile()
const databaseUrl = await postgres.database()
const folder = folderForFile()
const token = 'the-token-of-all-nodes-0123456789'
beforeEach(() => void vi.stubEnv('HOME', folder))

const nodes: Parley[] = []
afterAll(async () => {
  for (const node of nodes) await node.close()
})
for (const place of ['machine:a', 'machine:a', 'machine:b']) {
  nodes.push(
    await startParley({
      adapters: [createScriptedAdapter({ transcript: fileTranscript(join(folder, 'transcripts')) })],
      dataDir: mkdtempSync(join(folder, 'data-')),
      databaseUrl,
      hostname: '127.0.0.1',
      limits: { unloadMs: 500 },
      logger: pino({ level: 'silent' }),
      place,
      port: 0,
      token,
    }),
  )
}

let turn = 0
const nextNode = () => nodes[turn++ % nodes.length] as Parley
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

/** Calls a route at a node, by default the next node. */
async function call(name: RouteName, { params = {}, query = {}, body, node = nextNode() }: Call = {}) {
  const { method, path } = routes[name]
  const filled = path.replace(/:(\w+)/g, (_, key) => encodeURIComponent(params[key] ?? ''))
  const url = `${node.http.url}${filled}?${new URLSearchParams(query)}`
  const sent = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await fetch(url, sent)
  return { status: response.status, text: await response.text() }
}

type Call = {
  readonly params?: Record<string, string>
  readonly query?: Record<string, string>
  readonly body?: unknown
  readonly node?: Parley | undefined
}

async function reply<Reply>(name: RouteName, asked?: Call): Promise<Reply> {
  const { status, text } = await call(name, asked)
  expect(status, `${name}: ${text}`).toBe(routes[name].status)
  return (text === '' ? undefined : JSON.parse(text)) as Reply
}

const script = (...steps: object[]) => JSON.stringify(steps)
const cwd = repository()
const { id } = await reply<SessionState>('createSession', {
  body: { agent: 'scripted', cwd },
  node: nodes[0],
})
const params = { id }

const committed = repository()
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], { cwd: committed })
git('add', '-A')
git('commit', '-qm', 'first')
const written = {
  type: 'tool',
  name: 'Write',
  kind: 'edit',
  effect: { writeFile: { path: 'two.txt', text: '2\n' } },
}
const attempts = [{ agent: 'scripted' }, { agent: 'scripted' }]
const firstRound = await reply<Round>('createRound', {
  body: { prompt: script(written), cwd: committed, attempts },
  node: nodes[0],
})
const ofRound = { id: firstRound.id }

function repository(): string {
  const path = mkdtempSync(join(folder, 'repository-'))
  execFileSync('git', ['init', '-q'], { cwd: path })
  writeFileSync(join(path, 'one.txt'), 'one\n')
  return path
}

async function prompt(text: string): Promise<void> {
  const { turns } = await reply<SessionState>('getSession', { params })
  await reply('command', { params, body: { type: 'prompt.submit', commandId: `c${turn}`, text } })
  const isDone = async () => (await reply<SessionState>('getSession', { params })).turns === turns + 1
  await vi.waitUntil(isDone, 30_000)
}

/** For each route that reads, the call that a test makes after the session was used. */
const reads: Partial<Record<RouteName, Call>> = {
  listSessions: { query: { q: 'renamed' } },
  getSession: { params },
  getSessionNode: { params },
  events: { params },
  exportSession: { params, query: { as: 'markdown' } },
  listPermissions: {},
  chatMessages: { params },
  resumeChat: { params },
  listRules: {},
  listTrustedFolders: {},
  listEnvironments: {},
  listDevices: {},
  getMe: {},
  listPeople: {},
  listInvites: {},
  listTokens: {},
  listTargets: {},
  listSealKeys: {},
  checkLog: { params },
  getSignIn: {},
  listTerminals: { params },
  findFiles: { params, query: { q: 'one' } },
  listChanges: { params },
  getPatch: { params, query: { path: 'one.txt' } },
  listDecisionLinks: {},
  search: { query: { q: 'hello' } },
  previewHandOff: { params, query: { agent: 'scripted' } },
  readTree: { params },
  readFile: { params, query: { path: 'one.txt' } },
  getBranch: { params },
  previewMerge: { params },
  listViewed: { params },
  listRounds: {},
  getRound: { params: ofRound },
  compareAttempts: { params: ofRound, query: { to: '1' } },
  getAttemptPatch: { params: ofRound, query: { to: '1', path: 'two.txt' } },
}

it('a round is made at the place of its project, and compared and picked at any node', async () => {
  const roundOf = () => reply<Round>('getRound', { params: ofRound })
  await vi.waitUntil(async () => (await roundOf()).attempts.every(({ state }) => state === 'done'), 30_000)
  for (const node of nodes) {
    const { attempts: shown } = await reply<Round>('getRound', { params: ofRound, node })
    expect(shown.map(({ changes }) => changes)).toEqual([
      { files: 1, added: 1, removed: 0 },
      { files: 1, added: 1, removed: 0 },
    ])
  }
  const body = { prompt: script(), project: firstRound.projectId, attempts }
  const { place, attempts: made } = await reply<Round>('createRound', { body, node: nodes[2] })
  expect(place).toBe('machine:a')
  const picked = { id: made[1]?.sessionId ?? '' }
  const pick = { type: 'attempt.pick', commandId: 'pick' }
  await reply('command', { params: picked, body: pick, node: nodes[1] })
  const isOver = async () => {
    const { worktree } = await reply<SessionState>('getSession', { params: { id: made[0]?.sessionId ?? '' } })
    return worktree?.phase === 'removed'
  }
  await vi.waitUntil(isOver, 30_000)
})

it('every change is accepted by any node, and every node then gives the same answers', async () => {
  for (const _ of nodes) await prompt(script({ type: 'text', text: 'Hello.' }))
  for (const node of nodes) await reply('patchSession', { params, body: { title: 'renamed' }, node })
  for (const node of nodes) {
    const rule = { tool: 'Read', decision: 'allow', scope: 'session', sessionId: id }
    await reply('createRule', { body: rule, node })
    await reply('openTerminal', { params, body: { cols: 80, rows: 24 }, node })
  }
  await reply('trustFolder', { body: { folder: cwd }, node: nodes[1] })
  await reply('createToken', { body: { name: 'build' }, node: nodes[1] })
  await reply('createInvite', { body: { role: 'viewer' }, node: nodes[2] })
  await vi.waitUntil(async () => (await reply<SearchPage>('search', reads.search)).hits.length >= 6, 30_000)
  for (const [name, asked] of Object.entries(reads) as [RouteName, Call][]) {
    const [first, ...others] = await Promise.all(nodes.map((node) => call(name, { ...asked, node })))
    expect(first?.status, `${name}: ${first?.text}`).toBeLessThan(300)
    for (const other of others) expect(other, name).toEqual(first)
  }
  const { terminals } = await reply<{ terminals: Terminal[] }>('listTerminals', { params })
  expect(terminals).toHaveLength(3)
  for (const { terminalId } of terminals) await reply('removeTerminal', { params: { id: terminalId } })
  expect(await reply('listTerminals', { params })).toEqual({ terminals: [] })
})

it('the table `reads` contains every route that reads data shared by all nodes', () => {
  const shared = (Object.keys(routes) as RouteName[]).filter(
    (name) =>
      routes[name].method === 'GET' && ['any', 'place', 'snapshots', 'owner'].includes(whereServed[name]),
  )
  // These routes are not compared: the list of nodes marks the node that answers, projects have branches only
  // where their folders are, a preview needs snapshots, the session has neither a worktree nor a pull
  // request, and entries are added to the ledger some time after their events.
  const others = [
    'listNodes',
    'listProjects',
    'previewRewind',
    'getWorktree',
    'getPullRequest',
    'getCheckLogs',
    'listAudit',
  ]
  expect([...Object.keys(reads), ...others].sort()).toEqual(shared.sort())
})

it('a client whose calls each reach a different node can follow a session and answer its requests', async () => {
  const client = createClient({
    url: 'http://127.0.0.1',
    token,
    fetch: (input, init) =>
      fetch(String(input).replace('http://127.0.0.1/', `${nextNode().http.url}/`), init),
  })
  const ask = { type: 'permission', name: 'Bash', kind: 'command', title: 'ls', effect: {} }
  const body = {
    type: 'prompt.submit',
    commandId: 'asks',
    text: script(ask, { type: 'text', text: 'Done.' }),
  }
  await reply('command', { params, body })
  const requestOf = async () => (await client.call('getSession', { params })).requests[0]
  const request = await vi.waitUntil(requestOf, 30_000)
  await client.call('command', {
    params,
    body: { type: 'permission.decide', commandId: 'd', requestId: request.requestId, decision: 'allow' },
  })
  await vi.waitUntil(async () => !(await client.call('getSession', { params })).turn, 30_000)
  await client.close?.()
})

it('a commit message is suggested on any node, by the agent of the node that owns the session', async () => {
  for (const _ of nodes)
    expect(await reply('suggestMessage', { params, body: { paths: ['a.txt'] } })).toMatchObject({
      by: 'agent',
      message: expect.stringContaining('- a.txt'),
    })
})

it('a chat is continued, read and stopped on any node', async () => {
  const chatId = 'chat-1'
  const message = (text: string) => ({
    body: {
      ...{ id: chatId, agent: 'scripted', cwd, trigger: 'submit-message' },
      messages: [{ id: `m${turn}`, role: 'user', parts: [{ type: 'text', text }] }],
    },
  })
  for (const _ of nodes) {
    const { status, text } = await call('chat', message(script({ type: 'text', text: 'Hello.' })))
    expect(status, text).toBe(200)
    expect(text).toContain('Hello.')
  }
  const read = () => reply<unknown[]>('chatMessages', { params: { id: chatId } })
  const [one, ...others] = [await read(), await read(), await read()]
  expect(one).toHaveLength(6)
  for (const other of others) expect(other).toEqual(one)
  for (const _ of nodes) await reply('stopChat', { params: { id: chatId } })
})

it('only a node gets a proof of the token for its challenge', async () => {
  const [node] = nodes
  const challenge = { ...headers, 'parley-node-challenge': 'a'.repeat(43) }
  const response = await fetch(`${node?.http.url}/api/sessions`, { headers: challenge })
  expect(response.headers.has('parley-node-proof')).toBe(false)
  const { terminalId } = await reply<Terminal>('openTerminal', {
    params,
    body: { cols: 80, rows: 24 },
    node,
  })
  const url = `${node?.http.url.replace('http', 'ws')}/api/terminals/${terminalId}`
  const socket = new WebSocket(url, { headers: challenge })
  const answer = await new Promise<IncomingMessage>((resolve) => socket.once('upgrade', resolve))
  expect(answer.statusCode).toBe(101)
  expect(answer.headers['parley-node-proof']).toBeUndefined()
  socket.terminate()
  await reply('removeTerminal', { params: { id: terminalId } })
})

it('a session without an owner is changed by a node at its place, even if another node gets the request', async () => {
  const [made] = nodes
  const { id } = await reply<SessionState>('createSession', { body: { agent: 'scripted', cwd }, node: made })
  for (const [index, node] of nodes.entries()) {
    await vi.waitUntil(async () => (await ownersOf(id)) === 0, 30_000)
    await reply('patchSession', { params: { id }, body: { title: `unused ${index}` }, node })
  }
  expect(await reply('getSession', { params: { id } })).toMatchObject({ title: 'unused 2' })
})

async function ownersOf(sessionId: string): Promise<number> {
  const owned = await postgres.admin(
    (sql) => sql`SELECT FROM parley.sessions WHERE id = ${sessionId} AND owner IS NOT NULL`,
    databaseUrl,
  )
  return owned.length
}

it('a session that is deleted on one node is deleted on all nodes, with its terminals', async () => {
  for (const node of nodes) await reply('openTerminal', { params, body: { cols: 80, rows: 24 }, node })
  const { terminals } = await reply<{ terminals: Terminal[] }>('listTerminals', { params })
  await reply('deleteSession', { params, node: nodes[2] })
  for (const node of nodes) expect((await call('getSession', { params, node })).status).toBe(404)
  for (const { terminalId } of terminals) {
    const isGone = async () => (await call('removeTerminal', { params: { id: terminalId } })).status === 404
    expect(await isGone()).toBe(true)
  }
})
