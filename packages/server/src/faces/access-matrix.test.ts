import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  allScopes,
  Command,
  type CommandInput,
  type CommandType,
  newId,
  type Route,
  type RouteName,
  routes,
  type Scope,
  scopesOfCommand,
  scopesOfRoute,
} from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { accessUnderTest, type Stored } from './access-under-test.ts'
import type { Answer, Asked } from './http/server-under-test.ts'

/**
 * Tests every route, command and frame with every scope and kind of limits. The expected results are computed from the
 * tables of the protocol, so a route that is added later is tested too.
 */

const outside = (limit: 'sessions' | 'folders' | 'agents', folder: string): Stored => ({
  scopes: ['read', 'prompt', 'decide'],
  limits: {
    sessions: { sessions: ['ses_elsewhere'] },
    folders: { folders: [{ folder: join(folder, 'inside') }] },
    agents: { agents: ['other'] },
  }[limit],
})

const limitKinds = ['sessions', 'folders', 'agents'] as const

type BrowserName = Scope | (typeof limitKinds)[number]

type Server = Awaited<ReturnType<typeof start>>
let server: Server
beforeAll(async () => {
  server = await start()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

async function start() {
  const started = await accessUnderTest((folder) => {
    const single = Object.fromEntries(allScopes.map((scope) => [scope, { scopes: [scope] }]))
    const limited = Object.fromEntries(limitKinds.map((kind) => [kind, outside(kind, folder)]))
    const all = { ...single, ...limited } as Record<BrowserName, Stored>
    // The route that signs its caller out is tested with separate browsers.
    const leaving = Object.entries(all).map(([name, rights]) => [`leaving ${name}`, rights])
    return { ...all, ...(Object.fromEntries(leaving) as Record<`leaving ${BrowserName}`, Stored>) }
  })
  mkdirSync(join(started.folder, 'inside'))
  // The folder is a repository, because outside a repository reading files needs another scope.
  execFileSync('git', ['init', '-q'], { cwd: started.folder })
  return started
}

let untouched: Promise<string> | undefined
/** A session: a new one if a request may reach it, and otherwise one that all refused requests share. */
function sessionFor(isReached: boolean): Promise<string> {
  if (isReached) return server.session()
  untouched ??= server.session()
  return untouched
}

const names = Object.keys(routes) as RouteName[]
const route = (name: RouteName): Route => routes[name]

/** Values for fields whose schema accepts only certain texts. */
const texts: Readonly<Record<string, string>> = {
  code: 'A'.repeat(43),
  publicKey: 'A'.repeat(122),
  signature: 'A'.repeat(86),
}

/** A valid value of a schema, with only the fields that are required. */
function sample(schema: z.ZodType | undefined): unknown {
  if (!schema) return undefined
  return exampleOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape)
}

type Shape = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly items?: Shape
  readonly minItems?: number
  readonly minimum?: number
  readonly default?: unknown
}

function exampleOf(shape: Shape, name = ''): unknown {
  if (shape.const !== undefined) return shape.const
  if (shape.enum) return shape.enum[0]
  const [first] = shape.anyOf ?? shape.oneOf ?? []
  if (first) return exampleOf(first, name)
  if (shape.type === 'object') {
    const required = (shape.required ?? []).filter(
      (field) => shape.properties?.[field]?.default === undefined,
    )
    return Object.fromEntries(
      required.map((field) => [field, exampleOf(shape.properties?.[field] ?? {}, field)]),
    )
  }
  if (shape.type === 'array')
    return Array.from({ length: shape.minItems ?? 0 }, () => exampleOf(shape.items ?? {}))
  if (shape.type === 'integer' || shape.type === 'number') return Math.max(shape.minimum ?? 0, 1)
  return texts[name] ?? 'x'
}

/** Examples for schemas that check more than the types of their fields. */
const examples: Readonly<Partial<Record<RouteName, { readonly query?: object; readonly body?: object }>>> = {
  command: { body: { commandId: 'x', type: 'prompt.submit', text: '[]' } },
  createSession: { body: { agent: 'x', cwd: 'x' } },
  createRound: { body: { prompt: 'x', cwd: 'x', attempts: [{ agent: 'x' }, { agent: 'x' }] } },
  compareAttempts: { query: { to: '1' } },
  getAttemptPatch: { query: { to: '1', path: 'x' } },
  createSnapshot: { body: { name: 'a'.repeat(16) } },
  createRule: { body: { tool: 'x', decision: 'deny', scope: 'always' } },
  markViewed: { body: { files: [{ path: 'x', blob: null }] } },
  patchProject: { body: { name: 'x' } },
  setEnvironment: { body: { folder: '/nowhere', variables: {} } },
  unsetEnvironment: { query: { folder: '/nowhere' } },
}

const bodyOf = (name: RouteName) => examples[name]?.body ?? sample(route(name).body)
const queryOf = (name: RouteName) => examples[name]?.query ?? sample(route(name).query)

const tokenFor = (name: RouteName, browser: BrowserName) =>
  server.tokens[name === 'signOut' ? (`leaving ${browser}` as const) : browser]

/** A valid request of the route for this id. */
function requestOf(name: RouteName, id: string): { path: string; asked: Asked } {
  const { method, path, body } = route(name)
  const search = new URLSearchParams((queryOf(name) ?? {}) as Record<string, string>)
  const at = path.replace(/:\w+/g, encodeURIComponent(id))
  return {
    path: search.size > 0 ? `${at}?${search}` : at,
    asked: { method, ...(body && { body: bodyOf(name) }) },
  }
}

const errorOf = ({ body }: Answer) =>
  body.error as { code?: string; message?: string; details?: Record<string, unknown> } | undefined

/** The result of the access check, derived from an answer. */
function verdict(answer: Answer): string {
  const { code, details } = errorOf(answer) ?? {}
  if (answer.status === 401 && details?.reason === undefined) return 'no token'
  // A caller with access to the route can still be refused because it tries to give rights that it does not have.
  if (code !== 'forbidden' || details?.given !== undefined) return 'permitted'
  return details?.scope !== undefined ? `needs ${details.scope}` : 'outside the limits'
}

describe.each(names)('the route %s', (name) => {
  const needed = scopesOfRoute(route(name))
  const { scope, limits } = route(name)
  const inPath = route(name).path.includes('/:')

  it(`${scope === 'open' ? 'needs no' : 'needs a'} token`, async () => {
    const { path, asked } = requestOf(name, 'unknown')
    const said = verdict(await server.ask(path, asked))
    expect(said).toBe(scope === 'open' ? 'permitted' : 'no token')
  })

  it.each(allScopes)(
    'permits or refuses a browser with only the scope %s as the table declares',
    async (held) => {
      const missing = needed.find((one) => one !== held)
      // The example of a command is a prompt.
      const wanted = scope === 'command' && held !== 'prompt' ? 'prompt' : missing
      const isPermitted = scope === 'open' || wanted === undefined
      const { path, asked } = requestOf(name, await sessionFor(isPermitted && inPath))
      const said = verdict(await server.ask(path, asked, tokenFor(name, held)))
      expect(said).toBe(isPermitted ? 'permitted' : `needs ${wanted}`)
    },
  )

  const wider = Object.entries(route(name).scopesOfQuery ?? {}).flatMap(([field, values]) =>
    Object.entries(values).flatMap(([value, scopes]) => scopes.map((further) => ({ field, value, further }))),
  )
  it.each(wider)(
    'needs the scope $further if the query has $field=$value',
    async ({ field, value, further }) => {
      const { path, asked } = requestOf(name, await sessionFor(false))
      const wide = `${path}${path.includes('?') ? '&' : '?'}${field}=${value}`
      for (const held of needed) {
        const said = verdict(await server.ask(wide, asked, tokenFor(name, held)))
        expect(said).toBe(`needs ${further}`)
      }
    },
  )

  it.each(limitKinds)('applies limits to %s as the table declares', async (kind) => {
    const session = await sessionFor(inPath && limits !== 'refused' && limits !== 'session')
    const { path, asked } = requestOf(name, session)
    const answer = await server.ask(path, asked, tokenFor(name, kind))
    const excluded = needed.find((one) => !['read', 'prompt', 'decide'].includes(one))
    if (scope !== 'open' && excluded !== undefined) return expect(verdict(answer)).toBe(`needs ${excluded}`)
    if (limits === 'refused') return expect(verdict(answer)).toBe('outside the limits')
    if (limits !== 'session') return expect(verdict(answer)).not.toMatch(/^needs/)
    const unknown = requestOf(name, 'ses_unknown')
    const other = await server.ask(unknown.path, unknown.asked, server.tokens[kind])
    expect([answer.status, answer.text]).toEqual([404, other.text.replaceAll('ses_unknown', session)])
  })
})

it.each(names)('the example request of the route %s is valid', (name) => {
  const { query, body } = route(name)
  const problems = [query?.safeParse(queryOf(name)).error, body?.safeParse(bodyOf(name)).error]
  expect(problems.flatMap((error) => error?.issues ?? [])).toEqual([])
})

const seen = { path: 'x', blob: '0'.repeat(40) }
const commandSamples: Readonly<Record<CommandType, Record<string, unknown>>> = {
  'prompt.submit': { text: '[]' },
  'prompt.withdraw': { promptId: 'prm_x' },
  'prompt.move': { promptId: 'prm_x' },
  'turn.cancel': {},
  'queue.resume': {},
  'task.stop': {},
  'permission.decide': { requestId: 'req_x', decision: 'deny' },
  'question.answer': { requestId: 'req_x', answers: {} },
  'session.configure': { model: 'scripted-small' },
  'session.fork': {},
  'session.hand-over': { into: 'ses_x' },
  'session.close': {},
  'session.release': {},
  'session.compact': {},
  'session.rewind': { promptId: 'prm_x' },
  'session.unrewind': {},
  'changes.discard': { base: 'HEAD', files: [seen] },
  'changes.restore': { discarded: 1 },
  'changes.stage': { files: [seen] },
  'changes.unstage': { files: [seen] },
  'changes.commit': { message: 'x', files: [seen] },
  'branch.push': { branch: 'x', commit: seen.blob },
  'branch.merge': { branch: 'x', commit: seen.blob, into: 'main', onto: seen.blob },
  'pull-request.open': { title: 'x' },
  'worktree.retry': {},
  'worktree.remove': {},
  'worktree.restore': {},
  'worktree.fill': {},
  'check.run': {},
  'check.stop': {},
  'attempt.pick': {},
  'attempt.pass-over': { number: 1, by: 'ses_x' },
}

/** Commands whose fields need more scopes than their type. */
const wideCommands: readonly [string, Record<string, unknown>][] = [
  [
    'decides for the folder',
    { type: 'permission.decide', requestId: 'r', decision: 'allow', scope: 'project' },
  ],
  ['decides for always', { type: 'permission.decide', requestId: 'r', decision: 'deny', scope: 'always' }],
  [
    'decides for the session',
    { type: 'permission.decide', requestId: 'r', decision: 'allow', scope: 'session' },
  ],
  ['forks into a worktree', { type: 'session.fork', worktree: {} }],
  ['chooses the mode bypass', { type: 'session.configure', mode: 'bypass' }],
  ['chooses the mode accept-edits', { type: 'session.configure', mode: 'accept-edits' }],
  ['chooses the mode plan', { type: 'session.configure', mode: 'plan' }],
  ['chooses the mode read-only', { type: 'session.configure', mode: 'read-only' }],
  ['adds MCP servers', { type: 'session.configure', mcpServers: { x: { command: 'true' } } }],
  ['removes MCP servers', { type: 'session.configure', mcpServers: {} }],
  ['adds folders', { type: 'session.configure', options: { directories: ['/'] } }],
  ['replaces the system prompt', { type: 'session.configure', options: { systemPrompt: 'x' } }],
  ['chooses the effort', { type: 'session.configure', options: { effort: 'high' } }],
]

const everyCommand = [
  ...Object.entries(commandSamples).map(([type, fields]) => [`is ${type}`, { type, ...fields }] as const),
  ...wideCommands,
]

it('every command type has an example', () => {
  const types = Command.options.flatMap((option) => [...option.shape.type.values])
  expect(new Set(Object.keys(commandSamples))).toEqual(new Set(types))
})

describe.each(everyCommand)('a command that %s', (_, fields) => {
  const commandOf = () => ({ ...fields, commandId: newId('cmd') }) as CommandInput

  it.each(allScopes)(
    'is permitted or refused as the table declares, with the scope %s, over HTTP and WebSocket',
    async (held) => {
      const missing = scopesOfCommand(Command.parse(commandOf())).find((one) => one !== held)
      const session = await sessionFor(missing === undefined)
      const wanted = missing === undefined ? 'permitted' : `needs ${missing}`
      const token = server.tokens[held]
      const body = commandOf()
      expect(verdict(await server.ask(`/api/sessions/${session}/commands`, { body }, token))).toBe(wanted)
      const { send, until } = await server.connect(token)
      const command = commandOf()
      send({ type: 'command', session, command })
      const { error } = await until((frame) => frame.type === 'receipt')
      expect(verdict({ status: 200, headers: {}, text: '', body: { error } })).toBe(wanted)
    },
  )

  it.each(limitKinds)('reaches no session outside the limits to %s', async (kind) => {
    const session = await sessionFor(false)
    const before = await server.parley.host.state(session)
    const token = server.tokens[kind]
    const path = `/api/sessions/${session}/commands`
    const answer = await server.ask(path, { body: commandOf() }, token)
    expect(errorOf(answer)?.code).toMatch(/^(not_found|forbidden)$/)
    const { send, until } = await server.connect(token)
    send({ type: 'command', session, command: commandOf() })
    const { error } = await until((frame) => frame.type === 'receipt')
    expect((error as { code: string }).code).toMatch(/^(not_found|forbidden)$/)
    expect((await server.parley.host.state(session)).seq).toBe(before.seq)
  })
})

describe('a WebSocket', () => {
  it.each([...allScopes, ...limitKinds])(
    'of a browser with %s shows only the sessions that it may read',
    async (name) => {
      const session = await server.session()
      const mayRead = name === 'read'
      const { send, until, frames } = await server.connect(server.tokens[name])
      send({ type: 'hello' })
      await until(({ type }) => type === 'welcome')
      send({ type: 'follow', session, after: 0 })
      const answer = await until((frame) => frame.type === 'error' || frame.type === 'caught-up')
      expect(answer.type).toBe(mayRead ? 'caught-up' : 'error')
      await server.parley.host.patch(session, { title: 'Changed' })
      // The pong arrives after all frames that were sent before it.
      send({ type: 'ping', id: 1 })
      await until(({ type }) => type === 'pong')
      const seen = frames.filter((frame) => frame.session === session && frame.type !== 'error')
      expect(seen.some(({ type }) => type === 'session-changed')).toBe(mayRead)
      if (!mayRead) expect(seen).toEqual([])
    },
  )
})
