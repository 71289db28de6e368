import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Limits,
  newId,
  type Project,
  projectIdOf,
  type Round,
  type RouteName,
  type routes,
} from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AccessUnderTest, accessUnderTest, machineToken } from './access-under-test.ts'
import type { Answer } from './http/server-under-test.ts'

/**
 * The routes that apply limits themselves, each with a token that is limited to one session, one folder or one agent.
 * A route that is added with limits `handled` needs an entry in `cases`.
 */

type Handled = {
  [Name in RouteName]: (typeof routes)[Name]['limits'] extends 'handled' ? Name : never
}[RouteName]

type Kind = 'sessions' | 'folders' | 'agents'
const kinds: readonly Kind[] = ['sessions', 'folders', 'agents']

let server: AccessUnderTest
let inside: string
let outside: string
const folders = { inside: '', outside: '' }
const tokens = {} as Record<Kind, string>

const waits = JSON.stringify([
  { type: 'permission', name: 'Write', kind: 'edit', title: 'Write x', input: { file_path: 'x' } },
])

beforeAll(async () => {
  server = await accessUnderTest(() => ({}))
  for (const name of ['inside', 'outside'] as const) {
    folders[name] = join(server.folder, name)
    mkdirSync(folders[name])
  }
  mkdirSync(join(folders.inside, 'deeper'))
  mkdirSync(join(server.folder, 'inside-not'))
  symlinkSync(folders.outside, join(folders.inside, 'link'))
  inside = await server.session(folders.inside, 'scripted')
  outside = await server.session(folders.outside, 'other')
  const limits: Record<Kind, Limits> = {
    sessions: { sessions: [inside] },
    folders: { folders: [{ folder: folders.inside }] },
    agents: { agents: ['scripted'] },
  }
  for (const kind of kinds) {
    const body = { name: `limited to ${kind}`, scopes: ['read', 'prompt', 'decide'], limits: limits[kind] }
    tokens[kind] = (await server.ask('/api/tokens', { body }, machineToken)).body.token as string
  }
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const codeOf = ({ body }: Answer) => (body.error as { code?: string } | undefined)?.code
const isOutside = (answer: Answer) =>
  (answer.body.error as { details?: { limits?: unknown } } | undefined)?.details?.limits === true
const ids = (list: unknown, field: string) =>
  (list as Record<string, unknown>[]).map((one) => one[field]).sort()

type Ask = (path: string, body?: unknown, method?: string) => Promise<Answer>

/** The body of a request that creates a session. */
const creation = (cwd: string, agent: string, more = {}) => ({ cwd, agent, ...more })

async function expectCreation(path: string, ask: Ask, kind: Kind, more: object): Promise<void> {
  const refused = async (cwd: string, agent: string, extra = {}) =>
    expect(isOutside(await ask(path, creation(cwd, agent, { ...more, ...extra })))).toBe(true)
  await refused(folders.outside, 'other')
  if (kind === 'sessions') return refused(folders.inside, 'scripted')
  if (kind === 'agents') return refused(folders.inside, 'other')
  await refused(join(folders.inside, 'link'), 'scripted')
  await refused(join(folders.inside, '..', 'outside'), 'scripted')
  await refused(join(server.folder, 'inside-not'), 'scripted')
  await refused(folders.inside, 'scripted', { options: { directories: [folders.outside] } })
  await refused(folders.inside, 'scripted', { options: { directories: ['/'] } })
  expect((await ask(path, creation(join(folders.inside, 'deeper'), 'scripted', more))).status).toBeLessThan(
    300,
  )
}

const hook = { kind: 'webhook', url: 'https://hooks.example.org/' }

/** The ids of the targets that the owner has added. */
async function targetIds(): Promise<string[]> {
  await server.ask('/api/targets', { body: hook }, machineToken)
  const { targets } = (await server.ask('/api/targets', {}, machineToken)).body
  return ids(targets, 'targetId') as string[]
}

/** Runs `work` while the owner has a decision link for a request of each session. */
async function withLinks(work: (links: readonly string[]) => Promise<void>): Promise<void> {
  const links: string[] = []
  for (const session of [inside, outside]) {
    const command = { type: 'prompt.submit', commandId: newId('cmd'), text: waits } as const
    await server.parley.host.command(session, command)
    const open = async () => (await server.parley.host.state(session)).requests
    await expect.poll(async () => (await open()).length).toBe(1)
    const body = { requestId: (await open())[0]?.requestId }
    const made = await server.ask(`/api/sessions/${session}/decision-links`, { body }, machineToken)
    links.push(made.body.linkId as string)
  }
  await work(links)
  for (const session of [inside, outside])
    await server.parley.host.command(session, { type: 'turn.cancel', commandId: newId('cmd') })
}

/** A round of the owner, with an attempt of each agent. It is made once. */
let roundId: Promise<string> | undefined
async function ownersRound(): Promise<string> {
  const cwd = join(server.folder, 'repository')
  mkdirSync(cwd)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], { cwd })
  git('init', '-q')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  const attempts = [{ agent: 'scripted' }, { agent: 'other' }]
  const round = { prompt: '[]', cwd, attempts }
  return (await server.parley.host.createRound(round)).id
}

/** Expects that a caller sees only the attempts of its own agent in a round of the owner. */
async function expectAttempts(kind: Kind, asked: (roundId: string) => Promise<Answer>, attempt: 1 | 2) {
  roundId ??= ownersRound()
  const answer = await asked(await roundId)
  const isSeen = kind === 'agents' && attempt === 1
  expect(isSeen ? answer.status : codeOf(answer)).toBe(isSeen ? 200 : 'not_found')
  expect(answer.text).not.toContain('other')
}

const message = { id: newId('cmd'), role: 'user', parts: [{ type: 'text', text: '[]' }] }

const cases: Readonly<Record<Handled, (ask: Ask, kind: Kind) => Promise<void>>> = {
  async createSession(ask, kind) {
    await expectCreation('/api/sessions', ask, kind, { mode: 'ask' })
    const goOn = (sessionId: string, more = {}) =>
      ask('/api/sessions', { agent: 'scripted', from: { sessionId }, ...more })
    expect(codeOf(await goOn(outside))).toBe('not_found')
    expect(codeOf(await goOn(outside, { cwd: folders.inside }))).toBe('not_found')
    if (kind === 'sessions') return expect(isOutside(await goOn(inside))).toBe(true)
    expect((await goOn(inside)).body.cwd).toBe(folders.inside)
    const beyond = kind === 'agents' ? { agent: 'other' } : { cwd: folders.outside }
    expect(isOutside(await goOn(inside, beyond))).toBe(true)
    const preview = await ask(`/api/sessions/${inside}/hand-off?agent=other`)
    expect(isOutside(preview)).toBe(kind === 'agents')
  },
  prepareSession: (ask, kind) => expectCreation('/api/sessions/prepare', ask, kind, { mode: 'ask' }),
  async listSessions(ask) {
    const found = ids((await ask('/api/sessions?limit=1')).body.sessions, 'id')
    const all = ids((await ask('/api/sessions?limit=500')).body.sessions, 'id')
    expect(found.length).toBeLessThanOrEqual(1)
    expect(all).toContain(inside)
    expect(all).not.toContain(outside)
    expect((await ask('/api/sessions?agent=other')).body.sessions).toEqual([])
  },
  async createRound(ask, kind) {
    const made = (agent: string) =>
      ask('/api/rounds', { prompt: '[]', cwd: folders.inside, attempts: [{ agent: 'scripted' }, { agent }] })
    expect(isOutside(await made('other'))).toBe(true)
    // The folder has no repository.
    const code = codeOf(await made('scripted'))
    expect(code).toBe(kind === 'agents' ? 'not_supported' : 'forbidden')
  },
  async listRounds(ask, kind) {
    roundId ??= ownersRound()
    const id = await roundId
    const { rounds } = (await ask('/api/rounds')).body as { rounds: Round[] }
    const seen = rounds.map((round) => [round.id, round.attempts.map(({ attempt }) => attempt)])
    expect(seen).toEqual(kind === 'agents' ? [[id, [1]]] : [])
  },
  getRound: (ask, kind) => expectAttempts(kind, (id) => ask(`/api/rounds/${id}`), 1),
  async compareAttempts(ask, kind) {
    await expectAttempts(kind, (id) => ask(`/api/rounds/${id}/changes?to=1`), 1)
    await expectAttempts(kind, (id) => ask(`/api/rounds/${id}/changes?to=2`), 2)
    await expectAttempts(kind, (id) => ask(`/api/rounds/${id}/changes?to=1&from=2`), 2)
  },
  async getAttemptPatch(ask, kind) {
    await expectAttempts(kind, (id) => ask(`/api/rounds/${id}/changes/patch?to=1&path=x`), 1)
    await expectAttempts(kind, (id) => ask(`/api/rounds/${id}/changes/patch?to=1&from=2&path=x`), 2)
  },
  async listProjects(ask, kind) {
    const { projects } = (await ask('/api/projects')).body as { projects: Project[] }
    const seen = projects.flatMap((project) => project.folders.map(({ folder }) => folder))
    expect(seen).toContain(folders.inside)
    expect(seen).not.toContain(folders.outside)
    expect(projects.every(({ settings, changes }) => settings === undefined && changes === undefined)).toBe(
      true,
    )
    if (kind === 'sessions') expect(projects).toMatchObject([{ sessions: 1, archived: 0 }])
    expect(
      (await ask(`/api/sessions?project=${projectIdOf({ project: folders.outside })}`)).body.sessions,
    ).toEqual([])
  },
  async search(ask) {
    const found = async (ask: Ask) => {
      const { hits } = (await ask('/api/search?q=okapi&limit=100')).body as {
        hits: { session: { id: string } }[]
      }
      return hits.map(({ session }) => session.id)
    }
    const text = JSON.stringify([{ type: 'text', text: 'an okapi' }])
    for (const session of [inside, outside])
      await server.parley.host.command(session, { type: 'prompt.submit', commandId: newId('cmd'), text })
    const askAsOwner: Ask = (path) => server.ask(path, {}, machineToken)
    await expect.poll(() => found(askAsOwner)).toEqual(expect.arrayContaining([inside, outside]))
    const seen = await found(ask)
    expect(seen).toContain(inside)
    expect(seen).not.toContain(outside)
  },
  async listPermissions(ask) {
    for (const session of [inside, outside]) {
      const command = { type: 'prompt.submit', commandId: newId('cmd'), text: waits } as const
      await server.parley.host.command(session, command)
      await expect
        .poll(async () => (await server.parley.host.state(session)).requests.length)
        .toBeGreaterThan(0)
    }
    const { requests } = (await ask('/api/permissions')).body as { requests: { session: { id: string } }[] }
    expect(new Set(requests.map(({ session }) => session.id))).toEqual(new Set([inside]))
    for (const session of [inside, outside])
      await server.parley.host.command(session, { type: 'turn.cancel', commandId: newId('cmd') })
  },
  async chat(ask) {
    const answer = await ask('/api/chat', {
      id: outside,
      messages: [message],
      ...creation(folders.outside, 'other'),
    })
    expect(isOutside(answer)).toBe(true)
    const command = await server.parley.host.read(outside, { limit: 500 })
    expect(command.events.map(({ json }) => json).join()).not.toContain(message.id)
  },
  async resumeChat(ask) {
    expect((await ask(`/api/chat/${outside}/stream`)).status).toBe(204)
  },
  async stopChat(ask) {
    expect(codeOf(await ask(`/api/chat/${outside}/stop`, {}))).toBe('not_found')
  },
  async chatMessages(ask) {
    const { text } = await ask(`/api/chat/${outside}/messages`)
    expect(JSON.parse(text)).toEqual([])
  },
  async listAgents(ask, kind) {
    const listed = ids((await ask('/api/agents')).body.agents, 'id')
    expect(listed).toEqual(kind === 'agents' ? ['scripted'] : ['other', 'scripted'])
  },
  async listModels(ask, kind) {
    const listed = ids((await ask('/api/models')).body.agents, 'agent')
    expect(listed).toEqual(kind === 'agents' ? ['scripted'] : ['other', 'scripted'])
  },
  async findFolders(ask, kind) {
    const query = `/api/folders?q=${encodeURIComponent(`${server.folder}/`)}`
    const found = (await ask(query)).body.folders as string[]
    if (kind === 'folders') expect(found.map((path) => path.replace(/\/$/, ''))).toEqual([folders.inside])
    else if (kind === 'sessions') expect(found).toEqual([])
    else expect(found.length).toBeGreaterThan(1)
  },
  async findFilesIn(ask, kind) {
    for (const cwd of [
      folders.outside,
      join(folders.inside, 'link'),
      join(folders.inside, '..', 'nowhere'),
    ]) {
      const answer = await ask(`/api/files?cwd=${encodeURIComponent(cwd)}`)
      if (kind !== 'agents') expect(isOutside(answer)).toBe(true)
      else expect(answer.status).not.toBe(403)
    }
    const { status } = await ask(`/api/files?cwd=${encodeURIComponent(folders.inside)}`)
    expect(status).toBe(kind === 'sessions' ? 403 : 200)
  },
  async listTargets(ask) {
    await server.ask('/api/targets', { body: hook }, machineToken)
    expect((await ask('/api/targets')).body.targets).toEqual([])
  },
  async createTarget(ask) {
    // A target gets only alerts within the limits of the device that adds it. A token without the scope admin
    // cannot add targets.
    expect((await ask('/api/targets', hook)).body.error).toMatchObject({ details: { scope: 'admin' } })
    const keys = { p256dh: 'B'.padEnd(87, 'A'), auth: 'A'.repeat(22) }
    const push = { kind: 'push', endpoint: 'https://push.example.org/x', keys }
    expect(codeOf(await ask('/api/targets', push))).toBe('forbidden')
  },
  async patchTarget(ask) {
    for (const id of await targetIds())
      expect(codeOf(await ask(`/api/targets/${id}`, { detail: 'full' }, 'PATCH'))).toBe('not_found')
  },
  async removeTarget(ask) {
    for (const id of await targetIds())
      expect(codeOf(await ask(`/api/targets/${id}`, undefined, 'DELETE'))).toBe('not_found')
  },
  async testTarget(ask) {
    for (const id of await targetIds())
      expect(codeOf(await ask(`/api/targets/${id}/test`, undefined, 'POST'))).toBe('not_found')
  },
  async listDecisionLinks(ask) {
    await withLinks(async (links) => {
      const listed = (await ask('/api/decision-links')).body.links
      // A token sees only the links that it has created itself.
      expect([links.length, listed]).toEqual([2, []])
    })
  },
  async revokeDecisionLink(ask) {
    await withLinks(async (links) => {
      for (const id of links)
        expect(codeOf(await ask(`/api/decision-links/${id}`, undefined, 'DELETE'))).toBe('not_found')
    })
  },
  async createLink(ask) {
    expect((await ask('/api/links', undefined, 'POST')).body.error).toMatchObject({
      details: { scope: 'admin' },
    })
  },
  async createPairing(ask) {
    const answer = await ask('/api/pairings', {})
    expect(answer.body.error).toMatchObject({ details: { scope: 'admin' } })
  },
  async listDevices(ask) {
    expect((await ask('/api/devices')).body.devices).toEqual([])
  },
  async revokeDevice(ask) {
    expect(codeOf(await ask('/api/devices/dev_unknown', undefined, 'DELETE'))).toBe('not_found')
  },
  async listTokens(ask, kind) {
    expect((await ask('/api/tokens')).body.tokens).toMatchObject([
      { name: `limited to ${kind}`, current: true },
    ])
  },
  async createToken(ask) {
    const answer = await ask('/api/tokens', { name: 'more' })
    expect(answer.body.error).toMatchObject({ details: { scope: 'admin' } })
  },
  async revokeToken(ask, kind) {
    const { tokens: all } = (await server.ask('/api/tokens', {}, machineToken)).body as {
      tokens: { tokenId: string; hint: string }[]
    }
    const others = all.filter(({ hint }) => hint !== tokens[kind].slice(-hint.length))
    for (const { tokenId } of others.slice(0, 1))
      expect(codeOf(await ask(`/api/tokens/${tokenId}`, undefined, 'DELETE'))).toBe('forbidden')
  },
}

describe.each(kinds)('a token that is limited to %s', (kind) => {
  const ask: Ask = (path, body, method) =>
    server.ask(path, { ...(body !== undefined && { body }), ...(method && { method }) }, tokens[kind])

  it.each(Object.keys(cases) as Handled[])('has its limits applied by the route %s', (name) =>
    cases[name](ask, kind),
  )

  it('reads, follows and exports its session', async () => {
    for (const path of ['', '/events', '/export', '/files', '/node'])
      expect((await ask(`/api/sessions/${inside}${path}`)).status).toBe(200)
  })

  it('cannot add a folder outside the limits to its session', async () => {
    const body = {
      type: 'session.configure',
      commandId: newId('cmd'),
      options: { directories: [folders.outside] },
    }
    const answer = await ask(`/api/sessions/${inside}/commands`, body)
    expect(isOutside(answer)).toBe(kind === 'folders')
  })

  it('cannot merge into a branch that is checked out in a folder outside the limits', async () => {
    const [commit, folder] = ['a'.repeat(40), folders.outside]
    const merge = { type: 'branch.merge', branch: 'x', commit, into: 'main', onto: commit, folder }
    const body = { ...merge, commandId: newId('cmd') }
    const answer = await ask(`/api/sessions/${inside}/commands`, body)
    expect(isOutside(answer)).toBe(kind === 'folders')
  })

  it('cannot fork a session into a worktree, which is in the data folder, if it is limited to folders', async () => {
    const body = { type: 'session.fork', commandId: newId('cmd'), worktree: {} }
    const answer = await ask(`/api/sessions/${inside}/commands`, body)
    expect(isOutside(answer)).toBe(kind !== 'agents')
  })

  it('cannot pick an attempt if another attempt of the round is outside the limits', async () => {
    roundId ??= ownersRound()
    const { attempts } = await server.parley.host.round(await roundId)
    const body = { type: 'attempt.pick', commandId: newId('cmd') }
    const answer = await ask(`/api/sessions/${attempts[0]?.sessionId}/commands`, body)
    expect(codeOf(answer)).toBe(kind === 'agents' ? 'forbidden' : 'not_found')
  })

  it('forks its session only if the fork is within the limits', async () => {
    const body = { type: 'session.fork', commandId: newId('cmd') }
    const answer = await ask(`/api/sessions/${inside}/commands`, body)
    expect(isOutside(answer)).toBe(kind === 'sessions')
  })
})
