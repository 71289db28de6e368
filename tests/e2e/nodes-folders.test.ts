import { chmodSync, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { NewCommand } from '@parley/client'
import type { Receipt, SeenChange, SessionState } from '@parley/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { folderForFile, folderForTest } from '../../packages/server/src/testing/temporary-folder.ts'
import { repository, seenFile } from '../../packages/server/src/workspace/folder-changes-under-test.ts'
import { git, write } from '../../packages/server/src/workspace/hostile-repository-under-test.ts'
import { type NodeProcess, NodesFixture } from './nodes-fixture.ts'
import { eventsOf, isIdle, logOf, open, permission, scripted, stateWhen } from './session-fixture.ts'

/**
 * Tests operations in the folder of a session whose owner is another node, before and after the owner is killed. Node A
 * owns the sessions; people use B and C, which are at the same place but have data folders of their own.
 */
let nodes: NodesFixture
let a: NodeProcess
let b: NodeProcess
let c: NodeProcess
const home = folderForFile()
const pullRequest = 'https://github.com/acme/app/pull/7'

beforeAll(async () => {
  write(home, {
    '.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.com\n',
    gh: `#!/bin/sh\ncase "$*" in\n"pr list"*) echo '[]';;\n"pr create"*) echo ${pullRequest};;\n*) exit 1;;\nesac\n`,
  })
  chmodSync(join(home, 'gh'), 0o755)
  const environment = { HOME: home, PATH: `${home}:${process.env.PATH}` }
  nodes = await NodesFixture.start({ environment })
  ;[a, b, c] = nodes.nodes
})
afterAll(() => nodes?.[Symbol.asyncDispose]())
beforeEach(() => nodes.allUp())
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.log(nodes.log)
  await nodes.allUp()
  expect(await nodes.termProblems()).toEqual([])
})

const say = (text: string) => ({ type: 'text', text }) as const
let commands = 0
function send(
  { client }: NodeProcess,
  id: string,
  command: NewCommand,
  commandId = `cmd_${++commands}`,
): Promise<Receipt> {
  return client.command(id, command, { commandId })
}

/** A session of A in a folder of its own. */
async function session(cwd: string, more: object = {}): Promise<SessionState> {
  return a.client.createSession({ agent: 'scripted', cwd, trust: true, ...more })
}

const snapshotsOf = async (id: string) => eventsOf(await logOf(b.client, id), 'snapshot.taken').length

/** A turn that appends to files, each after a person at the node has allowed it. Both of its snapshots are complete. */
async function turn(node: NodeProcess, id: string, ...paths: string[]): Promise<string> {
  const { turns } = await node.client.call('getSession', { params: { id } })
  const taken = await snapshotsOf(id)
  const steps = paths.map((path) => permission(path, { kind: 'execute' }))
  const { promptId = '' } = await node.client.prompt(id, scripted(...steps, say('Done.')))
  await nodes.until(async () => (await snapshotsOf(id)) > taken)
  for (const _ of paths) {
    const { requestId } = open(
      await stateWhen(node.client, id, ({ requests }) => requests.length > 0),
      'permission',
    )
    await node.client.decide(id, requestId, 'allow')
  }
  await stateWhen(node.client, id, (state) => isIdle(state) && state.turns > turns)
  await nodes.until(async () => (await snapshotsOf(id)) > taken + 1)
  return promptId
}

it('makes, repeats and undoes every change of a folder through nodes that do not own its session', async () => {
  const cwd = realpathSync(repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' }))
  const remote = join(folderForTest(), 'app.git')
  git(cwd, 'clone', '-q', '--bare', cwd, remote)
  git(cwd, 'remote', 'add', 'origin', remote)
  git(cwd, 'fetch', '-q')
  git(cwd, 'checkout', '-qb', 'fix')
  const { id } = await session(cwd)
  const text = (path: string) => readFileSync(join(cwd, path), 'utf8')
  const see = async (node: NodeProcess, path: string): Promise<SeenChange> => {
    const { files } = await node.client.call('listChanges', { params: { id } })
    const found = files.find((file) => file.path === path)
    if (!found) throw new Error(`${path} has not changed`)
    return seenFile(found)
  }
  const status = () => git(cwd, 'status', '--porcelain').trimEnd()
  const isOwner = async ({ name }: NodeProcess) => expect((await nodes.owner(id)).name).toBe(name)

  write(cwd, { 'a.txt': 'discarded\n', 'b.txt': 'two\n' })
  const discard: NewCommand = { type: 'changes.discard', base: 'HEAD', files: [await see(b, 'a.txt')] }
  const discarded = await send(b, id, discard, 'discard')
  expect([text('a.txt'), await send(c, id, discard, 'discard')]).toEqual(['one\n', discarded])
  await send(c, id, { type: 'changes.restore', discarded: discarded.seq })
  expect(text('a.txt')).toBe('discarded\n')
  git(cwd, 'checkout', '-q', '--', 'a.txt')
  await send(b, id, { type: 'changes.stage', files: [await see(c, 'b.txt')] })
  expect(status()).toBe('M  b.txt')
  await send(c, id, { type: 'changes.unstage', files: [await see(b, 'b.txt')] })
  expect(status()).toBe(' M b.txt')
  const commit: NewCommand = { type: 'changes.commit', message: 'second', files: [await see(b, 'b.txt')] }
  const committed = await send(b, id, commit, 'commit')
  await isOwner(a)

  await a.end('SIGKILL')
  // The command is repeated, as if its answer had been lost with the owner.
  expect(await send(c, id, commit, 'commit')).toEqual(committed)
  expect(git(cwd, 'log', '--format=%s', 'main..')).toBe('second\n')
  const { branch = '', commit: head = '' } = await b.client.call('getBranch', { params: { id } })
  await send(b, id, { type: 'branch.push', branch, commit: head })
  expect(git(remote, 'rev-parse', 'fix').trim()).toBe(head)
  git(cwd, 'remote', 'set-url', 'origin', 'git@github.com:acme/app.git')
  const { seq } = await send(c, id, { type: 'pull-request.open', title: 'Fix' })
  const log = await logOf(b.client, id)
  expect(log[seq - 1]).toMatchObject({ type: 'pull-request.opened', url: pullRequest, branch: 'fix' })
  const changes = ['changes.discarded', 'changes.restored', 'changes.committed', 'branch.pushed'] as const
  expect(changes.map((type) => eventsOf(log, type).length)).toEqual([1, 1, 1, 1])
  // The content that was discarded is in the data folder of A.
  await expect(send(b, id, { type: 'changes.restore', discarded: discarded.seq })).rejects.toMatchObject({
    details: { missing: 'snapshot' },
  })
  expect([text('a.txt'), status()]).toEqual(['one\n', ''])
})

it('rewinds files, conversation and both through other nodes, and only the conversation if the owner was killed', async () => {
  const cwd = realpathSync(repository({ 'kept.txt': 'kept\n' }))
  const { id } = await session(cwd)
  const first = await turn(b, id, 'one.txt')
  const second = await turn(c, id, 'two.txt')
  const params = { id }
  const files = () => readdirSync(cwd).filter((name) => name.endsWith('.txt'))

  const query = { scope: 'turn' } as const
  const reads = nodes.clients.map((client) => client.call('listChanges', { params, query }))
  for (const found of await Promise.all(reads))
    expect(found).toMatchObject({ files: [{ path: 'two.txt' }], compared: { scope: 'turn' } })
  const patches = nodes.clients.map((client) =>
    client.call('getPatch', { params, query: { ...query, path: 'two.txt' } }),
  )
  for (const { patch } of await Promise.all(patches)) expect(patch).toContain('+x')
  const { compared } = await c.client.call('listChanges', { params, query })
  const rev = compared?.to.tree ?? ''
  const stored = nodes.clients.map((client) =>
    client.call('readFile', { params, query: { path: 'two.txt', rev } }),
  )
  for (const file of await Promise.all(stored)) expect(file).toMatchObject({ text: 'x' })
  const now = nodes.clients.map((client) => client.call('readTree', { params }))
  for (const { entries } of await Promise.all(now)) expect(entries).toHaveLength(3)

  const preview = await c.client.call('previewRewind', { params, query: { promptId: second } })
  expect(preview.files).toEqual([{ path: 'two.txt', action: 'delete' }])
  await send(b, id, { type: 'session.rewind', promptId: second })
  expect(files()).toEqual(['kept.txt', 'one.txt'])
  await send(c, id, { type: 'session.unrewind' })
  await send(b, id, { type: 'session.rewind', promptId: second, files: false, talk: true })
  await send(c, id, { type: 'session.unrewind' })
  expect(files()).toEqual(['kept.txt', 'one.txt', 'two.txt'])
  await send(c, id, { type: 'session.rewind', promptId: first, talk: true })
  expect(files()).toEqual(['kept.txt'])
  await send(b, id, { type: 'session.unrewind' })
  expect([files(), (await nodes.owner(id)).name]).toEqual([['kept.txt', 'one.txt', 'two.txt'], 'A'])

  await a.end('SIGKILL')
  // The snapshots are in the data folder of A.
  await expect(send(b, id, { type: 'session.rewind', promptId: first, talk: true })).rejects.toMatchObject({
    details: { missing: 'snapshot' },
  })
  expect(files()).toEqual(['kept.txt', 'one.txt', 'two.txt'])
  await send(c, id, { type: 'session.rewind', promptId: first, files: false, talk: true })
  const third = await turn(b, id, 'three.txt')
  await send(c, id, { type: 'session.rewind', promptId: third })
  expect(files()).toEqual(['kept.txt', 'one.txt', 'two.txt'])
  expect(
    eventsOf(await logOf(b.client, id), 'session.rewound').map(({ talk, files }) => [talk, files?.count]),
  ).toEqual([
    [undefined, 1],
    [true, undefined],
    [true, 2],
    [true, undefined],
    [undefined, 1],
  ])
})

it('makes, retries, removes and restores a worktree through other nodes, even after its owner was killed', async () => {
  const cwd = realpathSync(repository({ 'a.txt': 'one\n' }))
  const go = join(folderForTest(), 'go')
  const before = await session(cwd)
  const { projects } = await b.client.call('listProjects', {})
  const project = projects.find(({ root }) => root === cwd)?.id ?? ''
  await b.client.call('patchProject', { params: { id: project }, body: { setup: `test -e '${go}'` } })
  const { id } = await session(cwd, { worktree: {}, title: 'work', prompt: scripted(say('Begun.')) })
  const at = (phase: string, { client } = b) =>
    stateWhen(client, id, ({ worktree }) => worktree?.phase === phase).then(
      ({ worktree }) => worktree?.path ?? '',
    )
  await at('failed', c)
  write(join(go, '..'), { go: '' })
  await send(b, id, { type: 'worktree.retry' })
  const path = await at('ready', c)
  await stateWhen(c.client, id, (state) => isIdle(state) && state.turns === 1)
  const found = await Promise.all(
    nodes.clients.map((client) => client.call('getWorktree', { params: { id } })),
  )
  for (const one of found) expect(one).toMatchObject({ isThere: true, loss: { changes: 0 }, others: [] })

  const removeAndRestore = async (by: NodeProcess, then: NodeProcess) => {
    write(path, { 'b.txt': `written for ${by.name}\n` })
    await send(by, id, { type: 'worktree.remove', branch: 'delete' })
    await at('removed', then)
    expect([existsSync(path), git(cwd, 'branch', '--list', 'parley/*')]).toEqual([false, ''])
    await send(then, id, { type: 'worktree.restore' })
    await at('ready', by)
    expect(readFileSync(join(path, 'b.txt'), 'utf8')).toBe(`written for ${by.name}\n`)
    expect(git(path, 'branch', '--show-current')).toBe('parley/work\n')
  }
  await removeAndRestore(b, c)
  expect((await nodes.owner(id)).name).toBe('A')
  await a.end('SIGKILL')
  await removeAndRestore(c, b)
  // The owner is killed while the command of the project prepares the restored worktree.
  await send(b, id, { type: 'worktree.remove', branch: 'keep' })
  await at('removed')
  const setup = `echo >> '${go}'; until [ -e '${go}2' ]; do sleep 0.05; done`
  await b.client.call('patchProject', { params: { id: project }, body: { setup } })
  await send(b, id, { type: 'worktree.restore' })
  await nodes.until(() => readFileSync(go, 'utf8') === '\n')
  const owner = (await nodes.owner(id)).name
  const [dead, left] = owner === 'B' ? [b, c] : [c, b]
  await dead.end('SIGKILL')
  await nodes.until(() => readFileSync(go, 'utf8') === '\n\n')
  write(join(go, '..'), { go2: '' })
  await at('ready', left)
  expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n')

  // Uncommitted changes are in the data folder of the node that removed the worktree. Without them, nothing is restored.
  write(path, { 'b.txt': 'not committed\n' })
  await send(left, id, { type: 'worktree.remove' })
  await at('removed', left)
  await dead.start()
  await left.end('SIGKILL')
  await send(dead, id, { type: 'worktree.restore' })
  const { worktree } = await stateWhen(dead.client, id, (state) => state.worktree?.failure !== undefined)
  expect(worktree?.phase).toBe('removed')
  expect(worktree?.failure?.error).toMatchObject({ code: 'not_found', details: { missing: 'snapshot' } })
  expect([existsSync(path), before.worktree]).toEqual([false, undefined])
})

it('finds and hands over a session through other nodes while its owner lives, and after it was killed', async () => {
  const cwd = realpathSync(repository({ 'a.txt': 'one\n' }))
  const { id } = await session(cwd, { title: 'The source', prompt: scripted(say('The zebra is striped.')) })
  await stateWhen(b.client, id, (state) => isIdle(state) && state.turns === 1)
  const found = async ({ client }: NodeProcess, q: string) =>
    (await client.call('search', { query: { q } })).hits.map(({ session }) => session.id)
  const isFound = (node: NodeProcess, q: string) =>
    nodes.until(async () => (await found(node, q)).includes(id))
  await isFound(b, 'zebra')
  const handOver = async (node: NodeProcess) => {
    const query = { agent: 'scripted' }
    const told = await node.client.call('previewHandOff', { params: { id }, query })
    expect(told.text).toContain('The zebra is striped.')
    const { id: into } = await node.client.createSession({
      ...query,
      from: { sessionId: id, upTo: told.seq },
    })
    await stateWhen(node.client, into, (state) => isIdle(state) && state.turns === 1)
    return into
  }
  const early = await handOver(b)
  expect([await nodes.owner(id), await nodes.owner(early)].map(({ name }) => name)).toEqual(['A', 'B'])
  await a.end('SIGKILL')
  const late = await handOver(c)
  const handed = eventsOf(await logOf(c.client, id), 'session.handed-over')
  expect(handed.map(({ into }) => into)).toEqual([early, late])
  await isFound(c, 'zebra')
  await b.client.prompt(id, scripted(say('The quagga is not.')))
  for (const node of [b, c]) await isFound(node, 'quagga')
  await c.client.call('deleteSession', { params: { id } })
  await nodes.until(async () => (await found(b, 'quagga')).length === 0)
})
