import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { emptyState } from '@parley/protocol'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { accessStoreContract } from '../testing/access-store-contract.ts'
import { alertStoreContract } from '../testing/alert-store-contract.ts'
import { decisionLinkStoreContract } from '../testing/decision-link-store-contract.ts'
import { ledgerStoreContract } from '../testing/ledger-store-contract.ts'
import { storeContract } from '../testing/store-contract.ts'
import {
  awkwardTexts,
  callBlock,
  eventsOf,
  openTurn,
  receiptOf,
  ruleOf,
  stateOf,
  textBlock,
} from '../testing/store-samples.ts'
import { viewedStoreContract } from '../testing/viewed-store-contract.ts'
import { eventTextOf } from './event-text.ts'
import { migrations } from './migrations/index.ts'
import { createSqliteStore, openSqliteStore } from './sqlite.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

const openForContract = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-store-'))
  let store = openSqliteStore({ file: join(folder, 'parley.db') })
  const reopen = async () => {
    await store.close()
    store = openSqliteStore({ file: join(folder, 'parley.db') })
    return store
  }
  const cleanup = async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  }
  return { store, reopen, cleanup }
}

storeContract('the SQLite store', openForContract)
accessStoreContract('the SQLite store', openForContract)
alertStoreContract('the SQLite store', openForContract)
decisionLinkStoreContract('the SQLite store', openForContract)
viewedStoreContract('the SQLite store', openForContract)
ledgerStoreContract('the SQLite store', openForContract)

let folder: string
let file: string
const children: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-sqlite-'))
  file = join(folder, 'parley.db')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

const create = (id: string) => ({
  sessionId: id,
  epoch: 'e',
  state: stateOf(id, { turn: openTurn }),
  events: [],
})

describe('two processes', () => {
  it('cannot open the same file: the error of the second one names the first', async () => {
    const child = startChild(`
      const store = openSqliteStore({ file, owner: { url: 'http://127.0.0.1:4747', secret: 'hidden' } })
      say('open')`)
    expect(await child.line()).toBe('open')

    const started = performance.now()
    const refusal = refusalOf(() => openSqliteStore({ file }))
    expect(performance.now() - started).toBeLessThan(2000)
    expect(refusal).toMatchObject({ name: 'ParleyError', code: 'busy' })
    expect(refusal).toMatchObject({
      details: { owner: { pid: child.process.pid, url: 'http://127.0.0.1:4747' } },
    })
    expect(refusal).not.toHaveProperty('details.owner.secret')
    expect(refusal.message).toMatch(
      new RegExp(
        `^Another Parley \\(pid ${child.process.pid}, http://127.0.0.1:4747, since \\d{4}-.+\\) uses this data folder. ` +
          'Stop it, or choose another folder with --data-dir.$',
      ),
    )
  })

  it('leave no lock behind: after a SIGKILL the file opens at once', async () => {
    const child = startChild(`
      const store = openSqliteStore({ file })
      await store.create({ sessionId: 'a', epoch: 'e', state: emptyState('a', 'e'), events: [{ seq: 1, json: '{"seq":1}' }] })
      say('open')`)
    expect(await child.line()).toBe('open')
    child.process.kill('SIGKILL')
    await child.ended

    const store = openSqliteStore({ file })
    expect(await store.load('a')).toMatchObject({ head: 1 })
    await store.close()
  })

  it('keep everything acknowledged before a SIGKILL, and no partial batch', async () => {
    const child = startChild(`
      const store = openSqliteStore({ file })
      await store.create({ sessionId: 'a', epoch: 'e', state: emptyState('a', 'e'), events: [] })
      for (let seq = 1; ; seq += 2) {
        const events = [seq, seq + 1].map((seq) => ({ seq, json: JSON.stringify({ seq, at: 1, sessionId: 'a', text: 'x'.repeat(seq % 3000) }) }))
        await store.checkpoint('a', [{ type: 'text', id: 'b' + seq, text: 'x'.repeat(seq % 3000) }])
        await store.append({ sessionId: 'a', events, closedBlocks: ['b' + seq], receipt: { commandId: 'c' + seq, hash: 'h', receipt: { commandId: 'c' + seq, seq } } })
        say(seq + 1)
      }`)
    const lines = 20 + Math.floor(Math.random() * 400)
    let acknowledged = 0
    for (let index = 0; index < lines; index++) acknowledged = Number(await child.line())
    child.process.kill('SIGKILL')
    for (const line of await child.ended) acknowledged = Number(line)

    const store = openSqliteStore({ file })
    const { head } = (await store.load('a'))!
    expect(head).toBeGreaterThanOrEqual(acknowledged)
    expect(head % 2).toBe(0)
    const events = await store.read('a', { limit: head + 10 })
    expect(events.map(({ json }) => JSON.parse(json).seq)).toEqual(
      Array.from({ length: head }, (_, i) => i + 1),
    )
    expect(await store.receipt('a', `c${head - 1}`)).toBeDefined()
    expect(await store.receipt('a', `c${head + 1}`)).toBeUndefined()
    await store.close()
  })
})

describe('the owner file', () => {
  it('names the process that has the database open, and is removed on close', async () => {
    const store = openSqliteStore({ file, owner: { url: 'first' } })
    store.describeOwner({ url: 'http://127.0.0.1:1' })
    expect(JSON.parse(readFileSync(`${file}.owner.json`, 'utf8'))).toEqual({
      pid: process.pid,
      startedAt: expect.any(String),
      database: expect.stringMatching(/^\d+:\d+$/),
      url: 'http://127.0.0.1:1',
    })
    expect(refusalOf(() => openSqliteStore({ file })).message).toContain(
      `pid ${process.pid}, http://127.0.0.1:1, since`,
    )
    await store.close()
    await store.close()
    expect(existsSync(`${file}.owner.json`)).toBe(false)
    await expect(store.load('a')).rejects.toMatchObject({ code: 'internal_error' })
  })

  it.each(['{ broken', 'null', '{}'])('is not needed for a refusal: it may contain %s', async (content) => {
    const store = openSqliteStore({ file })
    writeFileSync(`${file}.owner.json`, content)
    expect(refusalOf(() => openSqliteStore({ file })).message).toMatch(
      /^Another Parley uses this data folder\./,
    )
    await store.close()
  })
})

describe('a file that Parley cannot use', () => {
  it('because of a newer schema is refused and left unchanged', async () => {
    const newer = [...migrations, { version: migrations.length + 1, sql: 'CREATE TABLE later (x)' }]
    openSqliteDatabase({ file, migrations: newer }).close()
    const before = readFileSync(file)
    const refusal = refusalOf(() => openSqliteStore({ file }))
    expect(refusal).toMatchObject({
      code: 'conflict',
      details: { version: migrations.length + 1, known: migrations.length },
    })
    expect(refusal.message).toContain('Update Parley')
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it('because it belongs to another program is refused and left unchanged', () => {
    const other = new DatabaseSync(file)
    other.exec('CREATE TABLE theirs (x)')
    other.close()
    const before = readFileSync(file)
    expect(refusalOf(() => openSqliteStore({ file }))).toMatchObject({ code: 'conflict' })
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it.each([
    ['a short text', Buffer.from('hello')],
    ['a long text', Buffer.from('not a database '.repeat(5000))],
  ])('because it is %s is refused and left unchanged', (_, content) => {
    writeFileSync(file, content)
    const refusal = refusalOf(() => openSqliteStore({ file }))
    expect(refusal).toMatchObject({ code: 'internal_error' })
    expect(refusal.message).toContain(file)
    expect(refusal.message).toContain('restore a backup')
    expect(readFileSync(file).equals(content)).toBe(true)
  })

  it('because it cannot be created is named in the error', () => {
    writeFileSync(join(folder, 'a file'), '')
    const refusal = refusalOf(() => openSqliteStore({ file: join(folder, 'a file', 'parley.db') }))
    expect(refusal).toMatchObject({ name: 'ParleyError', code: 'internal_error' })
  })
})

it('migrates an older file step by step, and a failed migration leaves it unchanged', () => {
  openSqliteDatabase({ file }).close()
  const next = { version: migrations.length + 1, sql: 'CREATE TABLE next (x);' }
  const broken = { ...next, sql: 'CREATE TABLE next (x); CREATE TABLE next (x)' }
  expect(refusalOf(() => openSqliteDatabase({ file, migrations: [...migrations, broken] }))).toMatchObject({
    code: 'internal_error',
  })
  openSqliteDatabase({ file }).close()
  const database = openSqliteDatabase({ file, migrations: [...migrations, next] })
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: next.version })
  expect(database.prepare('SELECT * FROM next').all()).toEqual([])
  database.close()
})

it('keeps the content of a file of the first schema, and can then trust folders', async () => {
  const old = openSqliteDatabase({ file, migrations: migrations.slice(0, 1) })
  old.exec(`INSERT INTO rules (id, rule) VALUES ('r', '${JSON.stringify(ruleOf('r'))}')`)
  old.close()
  const store = openSqliteStore({ file })
  expect(await store.rules()).toEqual([ruleOf('r')])
  await store.trustFolder({ folder: '/w', trustedAt: 1 })
  expect(await store.trustedFolders()).toEqual([{ folder: '/w', trustedAt: 1 }])
  await store.close()
})

it('finds sessions from an older schema by their conversation, with an index', async () => {
  const old = openSqliteDatabase({ file, migrations: migrations.slice(0, 2) })
  const insert = old.prepare(
    `INSERT INTO sessions (id, epoch, agent, status, archived, pinned, unsettled, updated_at, search, state)
     VALUES (?, 'e', 'x', 'idle', 0, 0, 0, 1, '', ?)`,
  )
  const connection = (agentSessionId: string) => ({ connection: { connectionId: 'c', agentSessionId } })
  insert.run('a', JSON.stringify(stateOf('a', { agent: 'x', ...connection('one') })))
  insert.run('b', JSON.stringify(stateOf('b', { agent: 'x', forkPending: true, ...connection('two') })))
  insert.run('c', JSON.stringify(stateOf('c', { agent: 'x' })))
  old.close()
  const store = openSqliteStore({ file })
  expect(Object.fromEntries(await store.sessionsOf('x', ['one', 'two']))).toEqual({ one: 'a' })
  await store.close()
  const database = openSqliteDatabase({ file, migrations })
  const plan = database
    .prepare("EXPLAIN QUERY PLAN SELECT id FROM sessions WHERE agent_session_id = ? AND agent = 'x'")
    .all('one')
  expect(JSON.stringify(plan)).toContain('USING INDEX sessions_of_conversations')
  database.close()
})

it('reports a damaged file, and does not change it', async () => {
  const store = openSqliteStore({ file })
  await store.create(create('a'))
  for (let seq = 1; seq <= 400; seq += 10)
    await store.append({ sessionId: 'a', events: longEvents('a', seq, 10) })
  await store.close()
  const bytes = readFileSync(file)
  const page = 16_384
  for (let at = 3 * page; at + page < bytes.length; at += page) bytes.fill(0xa5, at, at + 200)
  writeFileSync(file, bytes)

  const failure = await failureOf(async () => {
    const damaged = openSqliteStore({ file })
    try {
      await damaged.read('a', { limit: 400 })
    } finally {
      await damaged.close()
    }
  })
  expect(failure).toMatchObject({ name: 'ParleyError', code: 'internal_error' })
  expect(failure.message).toContain(file)
  expect(readFileSync(file).equals(bytes)).toBe(true)
})

it('loses nothing when the disk is full, and continues when there is space again', async () => {
  const database = openSqliteDatabase({ file })
  const store = createSqliteStore(database)
  await store.create(create('a'))
  await store.checkpoint('a', [textBlock('b', 'so far')])
  database.exec('PRAGMA max_page_count = 50')

  let head = 0
  const append = (closedBlocks: string[] = []) =>
    store.append({
      sessionId: 'a',
      events: longEvents('a', head + 1, 20),
      receipt: receiptOf(`c${head}`, head + 20),
      closedBlocks,
    })
  const failure = await failureOf(async () => {
    for (;;) {
      await append()
      head += 20
    }
  })
  expect(failure).toMatchObject({ name: 'ParleyError', code: 'busy' })
  expect(failure.message).toContain('free some space')
  expect(head).toBeGreaterThan(0)
  await expect(append(['b'])).rejects.toMatchObject({ code: 'busy' })
  const tooLong = [textBlock('b', 'so far and '), textBlock('c', 'long '.repeat(200_000))]
  await expect(store.checkpoint('a', tooLong)).rejects.toMatchObject({ code: 'busy' })
  expect(await store.load('a')).toMatchObject({ head })
  expect(await store.read('a', { limit: 10_000 })).toEqual(longEvents('a', 1, head))
  expect(await store.receipt('a', `c${head}`)).toBeUndefined()
  expect(await store.checkpoints('a')).toEqual([textBlock('b', 'so far')])

  database.exec('PRAGMA max_page_count = 1000000')
  await store.checkpoint('a', tooLong)
  await append()
  await store.close()
  const again = openSqliteStore({ file })
  expect(await again.read('a', { limit: 10_000 })).toEqual(longEvents('a', 1, head + 20))
  expect(await again.receipt('a', `c${head}`)).toEqual(receiptOf(`c${head}`, head + 20))
  expect(await again.checkpoints('a')).toEqual(tooLong)
  await again.close()
})

it('reports a file that cannot be written, and continues when it can', async () => {
  const database = openSqliteDatabase({ file })
  const store = createSqliteStore(database)
  await store.create(create('a'))
  database.exec('PRAGMA query_only = 1')
  const append = () => store.append({ sessionId: 'a', events: eventsOf('a', 1, 1) })
  await expect(append()).rejects.toMatchObject({
    name: 'ParleyError',
    code: 'internal_error',
    details: { file },
  })
  database.exec('PRAGMA query_only = 0')
  await append()
  expect(await store.load('a')).toMatchObject({ head: 1 })
  await store.close()
})

it('deletes every row of a session in every table', async () => {
  const store = openSqliteStore({ file })
  for (const id of ['a', 'b']) {
    await store.create(create(id))
    const rules = [ruleOf(`of ${id}`, { scope: 'session', sessionId: id })]
    await store.append({ sessionId: id, events: eventsOf(id, 1, 3), receipt: receiptOf('c', 3), rules })
    await store.checkpoint(id, [textBlock('t', 'text'), callBlock('call', 'in', 'out')])
  }
  await store.delete('a')
  await store.delete('b')
  await store.close()
  const database = new DatabaseSync(file)
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  const counts = tables.map(({ name }) => [
    name,
    database.prepare(`SELECT count(*) AS n FROM ${name}`).get()?.n,
  ])
  database.close()
  expect(Object.fromEntries(counts)).toEqual({
    sessions: 0,
    events: 0,
    alert_cursors: 0,
    alert_deliveries: 0,
    alert_keys: 0,
    alert_targets: 0,
    receipts: 0,
    checkpoints: 0,
    rules: 0,
    trusted_folders: 0,
    environments: 0,
    access_records: 0,
    decide_links: 0,
    deletions: 0,
    ledger: 0,
    ledger_queue: 0,
    project_settings: 0,
    seal_keys: 0,
    viewed: 0,
  })
})

it('writes only the new part of a growing block, and returns the space', async () => {
  const database = openSqliteDatabase({ file })
  const store = createSqliteStore(database)
  await store.create(create('a'))
  let text = ''
  for (let round = 0; round < 50; round++) {
    text += `${round} `.repeat(300)
    await store.checkpoint('a', [textBlock('b', text)])
  }
  const stored = database
    .prepare('SELECT count(*) AS rows, sum(length(body)) AS characters FROM checkpoints')
    .get()
  expect(stored).toMatchObject({ rows: 51 })
  expect(Number(stored?.characters)).toBeLessThan(text.length + 51 * 2 + 100)
  await store.append({ sessionId: 'a', events: eventsOf('a', 1, 1), closedBlocks: ['b'] })
  expect(database.prepare('SELECT count(*) AS rows FROM checkpoints').get()).toEqual({ rows: 0 })
  await store.close()
})

it('stores at most 1.3 times the text of a long session', async () => {
  const store = openSqliteStore({ file })
  await store.create(create('a'))
  let characters = 0
  for (let seq = 1; seq <= 4000; seq++) {
    const text = 'A sentence of a few words. '.repeat(30 + ((seq * 7) % 50))
    characters += text.length
    if (seq % 3 === 0) await store.checkpoint('a', [textBlock(`b${seq}`, text.slice(0, 900))])
    const event = {
      seq,
      at: 1_700_000_000_000 + seq,
      sessionId: 'a',
      turnId: 't',
      type: 'text.written',
      blockId: `b${seq}`,
      text,
    }
    await store.append({
      sessionId: 'a',
      events: [{ seq, json: JSON.stringify(event) }],
      closedBlocks: [`b${seq}`],
    })
  }
  await store.append({ sessionId: 'a', events: [], state: stateOf('a') })
  const stored = () => statSync(file).size + statSync(`${file}-wal`).size
  await expect.poll(() => stored() / characters).toBeLessThan(1.3)
  await store.close()
})

it('handles keys and seqs beyond 32 bits', async () => {
  const database = openSqliteDatabase({ file })
  const key = 2 ** 21 - 2
  const seq = 2 ** 32 - 3
  const store = createSqliteStore(database)
  await store.create(create('first'))
  database.exec(`UPDATE sessions SET key = ${key}`)
  database.exec(`INSERT INTO events VALUES (${key} * 4294967296 + ${seq}, '1,"x":1}')`)
  await store.close()

  const again = openSqliteStore({ file })
  expect(await again.load('first')).toMatchObject({ head: seq })
  await again.append({ sessionId: 'first', events: eventsOf('first', seq + 1, 1) })
  const expected = [
    { seq, json: `{"seq":${seq},"at":1,"sessionId":"first","x":1}` },
    ...eventsOf('first', seq + 1, 1),
  ]
  expect(await again.read('first', { limit: 5 })).toEqual(expected)
  await again.create(create('last'))
  await again.append({ sessionId: 'last', events: eventsOf('last', 1, 2) })
  expect(await again.read('last', { limit: 5 })).toEqual(eventsOf('last', 1, 2))
  expect(await again.read('first', { before: 2 ** 40, limit: 5 })).toEqual(expected)
  await expect(again.create(create('one too many'))).rejects.toMatchObject({ code: 'internal_error' })
  expect(await again.load('one too many')).toBeUndefined()
  await again.close()
})

describe('the stored text of an event', () => {
  it('omits the fields that its row contains', () => {
    const packed = eventTextOf('ses_1').pack(7, '{"seq":7,"at":1700,"sessionId":"ses_1","type":"x"}')
    expect(packed).toBe('1700,"type":"x"}')
  })

  it('is restored for unusual texts', () => {
    const text = eventTextOf('a "quoted" id')
    const texts = awkwardTexts('a "quoted" id')
    expect(texts.map((json, seq) => text.unpack(seq, text.pack(seq, json)))).toEqual(texts)
  })

  it('is restored for any text', () => {
    const piece = fc.constantFrom(
      '{"seq":',
      '1',
      '7',
      ',',
      '"at":',
      '"sessionId":"s",',
      '"sessionId":',
      '"s"',
      '=',
      '~',
      '}',
      '\ud800',
    )
    const any = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(any, fc.constantFrom(1, 7, 17), (json, seq) => {
        const text = eventTextOf('s')
        expect(text.unpack(seq, text.pack(seq, json))).toBe(json)
      }),
      { numRuns: 2000 },
    )
  })
})

function longEvents(sessionId: string, from: number, count: number) {
  return eventsOf(sessionId, from, count).map(({ seq, json }) => ({
    seq,
    json: json.replace('"n ', `"${'long '.repeat(200)}`),
  }))
}

function refusalOf(open: () => unknown): Error {
  try {
    open()
  } catch (thrown) {
    return thrown as Error
  }
  throw new Error('it was not refused')
}

async function failureOf(work: () => Promise<void>): Promise<Error> {
  return work().then(
    () => Promise.reject(new Error('it did not fail')),
    (thrown: Error) => thrown,
  )
}

/** A separate process with a store; `say` writes a line that `line()` waits for. It runs until it is killed. */
function startChild(code: string) {
  const store = new URL('./sqlite.ts', import.meta.url).href
  const program = `
    import { writeSync } from 'node:fs'
    import { openSqliteStore } from ${JSON.stringify(store)}
    const file = ${JSON.stringify(file)}
    const emptyState = (id) => ({ ...${JSON.stringify(emptyState('', 'e'))}, id })
    const say = (line) => writeSync(1, line + '\\n')
    setInterval(() => {}, 1000)
    ${code}`
  const options = ['--conditions=source', '--input-type=module', '--eval', program]
  const child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    process: child,
    async line(): Promise<string> {
      const { value, done } = await lines.next()
      if (done) throw new Error('the process ended')
      return value
    },
    /** The lines that `line` has not returned. Resolves when the process has ended. */
    get ended(): Promise<string[]> {
      return Array.fromAsync({ [Symbol.asyncIterator]: () => lines })
    },
  }
}
