import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Changes, projectIdOf, type SessionEvent } from '@parley/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGates } from '../../adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { createWorkspace } from '../../workspace/index.ts'
import { createSessionFolder } from '../../workspace/session-folder.ts'
import { serverUnderTest } from './server-under-test.ts'

function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=p', '-c', 'user.email=p@example.com']
  return execFileSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8' }).trim()
}

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** A call that writes a file without the editing tool of an agent, as a shell command does. */
const shell = (path: string) => ({
  type: 'tool',
  name: 'Bash',
  kind: 'execute',
  effect: { writeFile: { path, text: 'x\n' } },
})

async function served() {
  const folder = folderForTest()
  git(folder, 'init', '-q', '-b', 'main')
  write(folder, { 'a.txt': 'one\n', 'mine.txt': 'mine\n' })
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  // Uncommitted work of the person.
  write(folder, { 'mine.txt': 'changed\n' })
  const sessionFolder = createSessionFolder({ env: process.env, root: folderForTest() })
  const workspace = createWorkspace({ env: process.env, folders: sessionFolder })
  const gates = createGates()
  const adapters = [createScriptedAdapter({ gates })]
  const host = await createHost({ adapters, store: createMemoryStore(), sessionFolder })
  const server = await serverUnderTest(host, { workspace })
  onTestFinished(async () => {
    await server.close()
    await host.close()
  })
  const eventsOf = async (id: string) => {
    const { events } = await host.read(id, { after: 0, limit: 10_000 })
    return events.map(({ json }) => JSON.parse(json) as SessionEvent)
  }
  const count = async (id: string, type: string) =>
    (await eventsOf(id)).filter((event) => event.type === type).length
  let gate = 0
  return {
    ...{ folder, host, gates, server, eventsOf },
    create: async (cwd = folder) => (await host.create({ agent: 'scripted', cwd })).id,
    /** Plays the steps in a turn, which begins with a snapshot; returns the id of the turn. */
    async turn(id: string, ...steps: object[]): Promise<string> {
      const before = await count(id, 'snapshot.taken')
      const name = `gate ${gate++}`
      const text = JSON.stringify([{ type: 'wait', gate: name }, ...steps])
      await host.command(id, { type: 'prompt.submit', commandId: name, text })
      await expect.poll(() => count(id, 'snapshot.taken'), { timeout: 20_000 }).toBe(before + 1)
      gates.open(name)
      await expect.poll(() => count(id, 'snapshot.taken'), { timeout: 20_000 }).toBe(before + 2)
      return (await host.state(id)).lastTurn?.turnId ?? ''
    },
    async changes(id: string, query: string) {
      const { status, body } = await server.ask(`/api/sessions/${id}/changes?${query}`)
      const changes = body as unknown as Changes
      return { status, ...changes, paths: changes.files?.map(({ path }) => path) }
    },
    async patch(id: string, path: string, query: string) {
      const { body } = await server.ask(`/api/sessions/${id}/changes/patch?path=${path}&${query}`)
      return body.patch as string
    },
  }
}

describe('the changes of the scope', () => {
  it('turn are the changes of the folder in the turn, whichever tool made them', async () => {
    const { create, turn, changes, patch, folder } = await served()
    const id = await create()
    const first = await turn(id, shell('b.txt'), shell('a.txt'))
    write(folder, { 'between.txt': 'by hand\n' })
    const second = await turn(id, shell('c.txt'))
    write(folder, { 'later.txt': 'by hand\n' })
    const last = await changes(id, 'scope=turn')
    expect(last).toMatchObject({ status: 200, paths: ['c.txt'], cut: false })
    expect(last.compared).toEqual({
      scope: 'turn',
      turnId: second,
      from: { tree: last.base, at: expect.any(Number), commit: git(folder, 'rev-parse', 'HEAD') },
      to: { tree: expect.any(String), at: expect.any(Number), commit: git(folder, 'rev-parse', 'HEAD') },
    })
    const earlier = await changes(id, `scope=turn&turn=${first}`)
    expect(earlier).toMatchObject({ paths: ['a.txt', 'b.txt'], compared: { turnId: first } })
    expect(earlier.files[0]).toMatchObject({ status: 'modified', added: 1, removed: 0 })
    expect(await patch(id, 'a.txt', `scope=turn&turn=${first}`)).toContain('+x')
    expect(await patch(id, 'between.txt', `scope=turn&turn=${first}`)).toBe('')
  })

  it('turn of a running turn end with the present state of the folder', async () => {
    const { create, turn, changes, patch, folder, host, gates } = await served()
    const id = await create()
    await turn(id, shell('b.txt'))
    const text = JSON.stringify([{ type: 'wait', gate: 'open' }])
    await host.command(id, { type: 'prompt.submit', commandId: 'running', text })
    await expect
      .poll(async () => (await changes(id, 'scope=turn')).compared?.marked, { timeout: 20_000 })
      .toBeUndefined()
    write(folder, { 'new.txt': 'new\n' })
    expect(await changes(id, 'scope=turn')).toMatchObject({
      paths: ['new.txt'],
      compared: { to: { now: true } },
    })
    expect(await patch(id, 'new.txt', 'scope=turn')).toContain('+new')
    gates.open('open')
  })

  it('turn of an old turn are computed from snapshots in the log', async () => {
    const { create, turn, changes, host } = await served()
    const id = await create()
    const first = await turn(id, shell('b.txt'))
    for (const path of ['c.txt', 'd.txt', 'e.txt', 'f.txt']) await turn(id, shell(path))
    expect((await host.state(id)).snapshots?.turns.some(({ turnId }) => turnId === first)).toBe(false)
    expect(await changes(id, `scope=turn&turn=${first}`)).toMatchObject({ paths: ['b.txt'] })
    expect(await changes(id, 'scope=turn&turn=trn_none')).toMatchObject({ status: 404 })
  })

  it('session are all changes since its first snapshot, without earlier work', async () => {
    const { create, turn, changes, patch, folder } = await served()
    const id = await create()
    await turn(id, shell('b.txt'))
    await turn(id, shell('c.txt'))
    write(folder, { 'now.txt': 'now\n' })
    const { paths, compared } = await changes(id, 'scope=session')
    expect(paths).toEqual(['b.txt', 'c.txt', 'now.txt'])
    expect(compared).toMatchObject({ scope: 'session', to: { now: true } })
    expect(await patch(id, 'now.txt', 'scope=session')).toContain('+now')
  })

  it('commit are those since HEAD, and those of base are since the branch left its base', async () => {
    const { create, turn, changes, patch, folder, host } = await served()
    const id = await create()
    const base = git(folder, 'rev-parse', 'HEAD')
    git(folder, 'checkout', '-qb', 'feature')
    write(folder, { 'committed.txt': 'committed\n' })
    git(folder, 'add', 'committed.txt')
    git(folder, 'commit', '-qm', 'second')
    await turn(id, shell('b.txt'))
    const head = git(folder, 'rev-parse', 'HEAD')
    expect(await changes(id, 'scope=commit')).toMatchObject({
      base: head,
      branch: 'feature',
      paths: ['b.txt', 'mine.txt'],
      compared: { scope: 'commit', from: { commit: head }, to: { now: true } },
    })
    expect(await changes(id, 'scope=base')).toMatchObject({
      paths: ['b.txt', 'committed.txt', 'mine.txt'],
      compared: { scope: 'base', branch: 'main', from: { commit: base }, to: { now: true } },
    })
    expect(await patch(id, 'committed.txt', 'scope=base')).toContain('+committed')
    expect(await patch(id, 'committed.txt', 'scope=commit')).toBe('')
    git(folder, 'branch', '-m', 'main', 'trunk')
    expect(await changes(id, 'scope=base')).toMatchObject({ status: 422 })
    const { project = '' } = await host.state(id)
    await host.patchProject(projectIdOf({ project }), { base: 'trunk' })
    expect(await changes(id, 'scope=base')).toMatchObject({
      compared: { branch: 'trunk', from: { commit: base } },
    })
    expect(await patch(id, 'committed.txt', 'scope=base')).toContain('+committed')
  })

  it('name another session that worked in the folder meanwhile', async () => {
    const { create, turn, changes, folder } = await served()
    const [id, other] = [await create(), await create(folder)]
    await turn(id, shell('b.txt'))
    expect((await changes(id, 'scope=turn')).compared?.shared).toBeUndefined()
    await turn(other, shell('c.txt'))
    expect((await changes(id, 'scope=turn')).compared?.shared).toBeUndefined()
    expect((await changes(id, 'scope=session')).compared?.shared).toBe(true)
    const elsewhere = await create(folderForTest())
    await turn(elsewhere, shell('c.txt'))
    expect((await changes(elsewhere, 'scope=session')).compared?.shared).toBeUndefined()
  })

  it('are marked if a snapshot is late or missing', async () => {
    const { create, changes, host, eventsOf } = await served()
    const id = await create()
    expect(await changes(id, 'scope=session')).toMatchObject({
      status: 200,
      files: [],
      compared: { scope: 'session', marked: 'missing', from: {}, to: {} },
    })
    await host.command(id, {
      type: 'prompt.submit',
      commandId: 'at once',
      text: JSON.stringify([shell('b.txt')]),
    })
    await expect
      .poll(async () => (await eventsOf(id)).filter(({ type }) => type === 'snapshot.taken').length, {
        timeout: 20_000,
      })
      .toBe(2)
    expect((await changes(id, 'scope=turn')).compared?.marked).toBe('late')
  })

  it('are refused for a scope that does not exist', async () => {
    const { create, changes } = await served()
    expect(await changes(await create(), 'scope=week')).toMatchObject({ status: 400 })
  })
})
