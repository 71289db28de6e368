import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Client, createClient } from '@parley/client'
import { ParleyError, type SessionEvent } from '@parley/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { failToStart, type ServerOnFolder, startOnFolder } from './server-on-folder.ts'
import { eventsOf, isIdle, logOf, scripted, stateWhen } from './session-fixture.ts'
import { smallDisks } from './small-disk.ts'

function connect({ url, token }: ServerOnFolder): Client {
  return createClient({ url, token, backoff: { baseMs: 5, maxMs: 50 } })
}

describe.each(smallDisks())('$kind', ({ make }) => {
  it('refuses what it cannot store, loses nothing, and continues when there is space', async () => {
    using disk = make()
    using folder = temporaryFolder()
    await using server = await startOnFolder(disk)
    using client = connect(server)
    const create = async (title: string) =>
      (await client.createSession({ agent: 'scripted', cwd: folder.path, title })).id
    const [quiet, full] = [await create('quiet'), await create('full')]
    await client.prompt(quiet, 'Something to read later.')
    // Waits for the snapshot after the turn, which is the last event of the turn.
    await stateWhen(client, quiet, ({ snapshots }) => snapshots?.turns[0]?.after !== undefined)
    const readable = await logOf(client, quiet)
    const received: SessionEvent[] = []
    client.follow(full, { onEvent: (event) => void received.push(event as SessionEvent) })

    const filled = await fill(client, full)
    expect(filled.refusal).toMatchObject({ code: 'busy', message: expect.stringMatching(/space/) })
    expect(filled.refusal.message).not.toMatch(/Error:|at .*\.ts/)
    const inQuiet = submit(client, quiet, tooLarge)
    await expect(inQuiet).rejects.toMatchObject({ code: 'busy' })

    expect(await logOf(client, quiet)).toEqual(readable)
    const { sessions } = await client.call('listSessions', { query: {} })
    expect(sessions.map(({ id }) => id).toSorted()).toEqual([full, quiet].toSorted())
    expect((await client.call('health')).ok).toBe(true)
    expect((await client.call('getSession', { params: { id: full }, query: {} })).id).toBe(full)

    disk.free(server.pid)
    const receipt = await submit(client, full, filled.refused)
    expect(await submit(client, full, filled.refused)).toEqual(receipt)
    await submit(client, quiet, tooLarge)
    await stateWhen(client, full, isIdle)
    await stateWhen(client, quiet, ({ turns }) => turns === 2)

    const log = await logOf(client, full)
    expect(logProblems(log)).toEqual([])
    expect(received).toEqual(log.slice(0, received.length))
    const accepted = [...filled.accepted, receipt.promptId]
    expect(eventsOf(log, 'prompt.submitted').map(({ promptId }) => promptId)).toEqual(accepted)
    expect(eventsOf(log, 'turn.started').map(({ promptId }) => promptId)).toEqual(accepted)
    expect(eventsOf(log, 'turn.ended')).toHaveLength(accepted.length)

    await server.end('SIGTERM')
    await using again = await startOnFolder({ dataDir: disk.dataDir })
    using reader = connect(again)
    expect((await logOf(reader, full)).slice(0, log.length)).toEqual(log)
    expect((await stateWhen(reader, quiet, isIdle)).turns).toBe(2)
  })

  it('killed while the disk is full and restarted with free space, has everything that was announced', async () => {
    using disk = make()
    using folder = temporaryFolder()
    const server = await startOnFolder(disk)
    const client = connect(server)
    const { id } = await client.createSession({ agent: 'scripted', cwd: folder.path })
    const received: SessionEvent[] = []
    client.follow(id, { onEvent: (event) => void received.push(event as SessionEvent) })
    const filled = await fill(client, id)
    await server.end('SIGKILL')
    client.close()
    disk.free(process.pid)

    await using again = await startOnFolder({ dataDir: disk.dataDir })
    using reader = connect(again)
    await stateWhen(reader, id, isIdle)
    await submit(reader, id, filled.refused)
    await stateWhen(reader, id, isIdle)
    const log = await logOf(reader, id)
    expect(logProblems(log)).toEqual([])
    expect(received).toEqual(log.slice(0, received.length))
    const prompts = eventsOf(log, 'prompt.submitted').map(({ promptId }) => promptId)
    expect(prompts.slice(0, -1)).toEqual(filled.accepted)
    expect(eventsOf(log, 'turn.ended')).toHaveLength(prompts.length)
  })

  it('on a disk that is full from the start reports that it cannot open its store, and exits', async () => {
    using disk = make()
    const { code, log } = await failToStart({
      ...disk,
      shell: `${disk.shell}; ${takeAllSpace(disk.dataDir)}`,
    })
    expect(code).not.toBe(0)
    expect(log).toMatch(/space|could not be (read|written)|cannot be/)
    expect(log).toContain('parley.sqlite')
  })
})

const large = 'A prompt that takes space. '.repeat(1500)
/** A prompt that is always larger than the free space of the full disk. */
const tooLarge = { commandId: 'too-large', text: 'x'.repeat(3 * 1024 * 1024) }

type Sent = { commandId: string; text: string }

function submit(client: Client, session: string, sent: Sent) {
  const body = { type: 'prompt.submit' as const, delivery: 'queue' as const, ...sent }
  return client.call('command', { params: { id: session }, body })
}

/** Sends prompts one after the other until a prompt is refused. */
async function fill(client: Client, session: string) {
  const accepted: (string | undefined)[] = []
  for (let count = 0; count < 1000; count++) {
    const refused: Sent = { commandId: `fill-${count}`, text: `${count}: ${large}` }
    try {
      accepted.push((await submit(client, session, refused)).promptId)
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error
      return { accepted, refused, refusal: error }
    }
  }
  throw new Error('the disk is not small')
}

function takeAllSpace(dataDir: string): string {
  return `ulimit -S -f 8; mkdir -p "${dataDir}"`
}

function temporaryFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'parley-bad-disk-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

describe('a file that is not a database', () => {
  let dataDir: string
  let file: string
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-bad-disk-'))
    file = join(dataDir, 'parley.sqlite')
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  const noise = (bytes: number) => {
    const hash = createHash('sha512')
    let made = Buffer.alloc(0)
    while (made.length < bytes) made = Buffer.concat([made, hash.update('more').copy().digest()])
    return made.subarray(0, bytes)
  }

  it.each<[string, () => Buffer]>([
    ['noise', () => noise(50_000)],
    ['text', () => Buffer.from('My diary. '.repeat(500))],
    ['a header with noise behind it', () => Buffer.concat([Buffer.from('SQLite format 3\0'), noise(50_000)])],
    ['a store whose first page is damaged', damagedStore],
  ])('(%s) is named in the error at the start, and left unchanged', async (_, content) => {
    writeFileSync(file, content())
    const before = readFileSync(file)
    const { code, log } = await failToStart({ dataDir })
    expect(code).not.toBe(0)
    expect(log).toContain(file)
    expect(log).toMatch(/damaged|not a database/)
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(dataDir).filter((name) => name.startsWith('parley.sqlite'))).toEqual(['parley.sqlite'])
  })

  it('(a folder in its place) is refused and named', async () => {
    mkdirSync(file)
    const { code, log } = await failToStart({ dataDir })
    expect(code).not.toBe(0)
    expect(log).toContain(file)
  })

  it('(a database of another program) is refused and left unchanged', async () => {
    const database = new DatabaseSync(file)
    database.exec('CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES (1)')
    database.close()
    const before = readFileSync(file)
    const { code, log } = await failToStart({ dataDir })
    expect(code).not.toBe(0)
    expect(log).toContain(file)
    expect(log).toMatch(/another program/)
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  function damagedStore(): Buffer {
    const database = new DatabaseSync(file)
    database.exec(
      'PRAGMA page_size = 16384; CREATE TABLE sessions (key INTEGER PRIMARY KEY); PRAGMA user_version = 1',
    )
    database.exec(
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) INSERT INTO sessions SELECT i FROM n',
    )
    database.close()
    const bytes = readFileSync(file)
    noise(8000).copy(bytes, 100)
    return bytes
  }
})

it('damage in the middle of a store is reported where it is read, and the rest works', async () => {
  using folder = temporaryFolder()
  const dataDir = join(folder.path, 'data')
  const first = await startOnFolder({ dataDir })
  const client = connect(first)
  const { id } = await client.createSession({ agent: 'scripted', cwd: folder.path })
  await client.prompt(id, scripted({ type: 'flood', deltas: 400, size: 2000, blocks: 400 }))
  await stateWhen(client, id, ({ turns }) => turns === 1)
  const { id: other } = await client.createSession({ agent: 'scripted', cwd: folder.path })
  client.close()
  await first.end('SIGTERM')
  const file = join(dataDir, 'parley.sqlite')
  const bytes = readFileSync(file)
  const middle = Math.floor(bytes.length / 2 / 16_384) * 16_384
  bytes.fill(0xff, middle, middle + 16_384)
  writeFileSync(file, bytes)

  await using again = await startOnFolder({ dataDir })
  using reader = connect(again)
  const page = reader.call('events', { params: { id }, query: { limit: 5000 } })
  await expect(page).rejects.toMatchObject({
    code: 'internal_error',
    message: expect.stringContaining('damaged'),
  })
  expect((await reader.call('getSession', { params: { id: other }, query: {} })).id).toBe(other)
  await reader.prompt(other, 'hello')
  await stateWhen(reader, other, ({ turns }) => turns === 1)
})
