import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hostFor, type Principal } from '../access/index.ts'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import type { Script } from '../adapters/scripted/script.ts'
import { createHost, type Host } from '../index.ts'
import { openSealer } from '../proof/seal-key.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createMemorySearch } from '../stores/memory-search.ts'
import { systemClock } from '../system-clock.ts'
import { folderForFile, folderForTest } from '../testing/temporary-folder.ts'

const sealer = openSealer(join(folderForFile(), 'seal-key.pem'))
const script: Script = [
  { type: 'thinking', text: 'a secretthought' },
  { type: 'text', text: 'The migration moves every zebra to the new table.' },
  {
    type: 'tool',
    name: 'Bash',
    kind: 'execute',
    title: 'count animals',
    input: { command: 'grep -c giraffe animals.txt' },
    content: [{ type: 'terminal', output: 'found 12 giraffes and an okapi', exitCode: 0 }],
  },
]

/** A host with an index. Only the wait before indexing is shortened. */
async function open(
  options: {
    store?: ReturnType<typeof createMemoryStore>
    index?: ReturnType<typeof createMemorySearch>
  } = {},
) {
  const { store = createMemoryStore(), index = createMemorySearch() } = options
  const problems: string[] = []
  const clock = {
    ...systemClock,
    after: (ms: number, call: () => void, how?: { background: true }) =>
      systemClock.after(ms / 100, call, how),
  }
  const host = await createHost({
    adapters: [createScriptedAdapter()],
    ...{
      store,
      searchIndex: async () => ({ ...index, close: async () => undefined }),
      sealer,
      ledger: store,
    },
    limits: { cancelGraceMs: 500_000 },
    clock,
    problem: ({ doing, error }) => void problems.push(`${doing}: ${error}`),
  })
  onTestFinished(() => host.close())
  return { host, store, index, problems }
}

async function run(host: Host, prompt: string | Script, cwd = folderForTest()): Promise<string> {
  const text = typeof prompt === 'string' ? prompt : JSON.stringify(prompt)
  const { id } = await host.create({ agent: 'scripted', cwd, prompt: text })
  for await (const event of host.events(id)) if (event.type === 'turn.ended') break
  return id
}

/** The hits of a search, once everything is indexed. */
async function found(host: Host, q: string, query: Partial<Parameters<Host['search']>[0]> = {}) {
  await expect.poll(async () => (await host.search({ q: 'x', limit: 1 })).pending).toBeUndefined()
  const { hits } = await host.search({ q, limit: 20, ...query })
  return hits.map(({ kind, text, marks, session }) => ({
    session: session.id,
    kind,
    marked: marks.map(([start, end]) => text.slice(start, end)),
  }))
}

describe('a search', () => {
  it('finds answers, calls and results in the session that contains them, but not thoughts', async () => {
    const { host, problems } = await open()
    const session = await run(host, script)
    await run(host, 'an other prompt')
    const kindsOf = async (q: string) =>
      (await found(host, q)).map(({ kind }) => kind).filter((kind) => kind !== 'prompt')
    expect(await found(host, 'every zeb', { in: ['answer'] })).toEqual([
      { session, kind: 'answer', marked: ['every', 'zeb'] },
    ])
    expect(await kindsOf('giraffe animals')).toEqual(['call'])
    expect(await kindsOf('okapi')).toEqual(['output'])
    expect(await kindsOf('secretthought')).toEqual([])
    expect(await found(host, 'other', { in: ['prompt'] })).toMatchObject([
      { kind: 'prompt', marked: ['other'] },
    ])
    expect(problems).toEqual([])
  })

  it('without a word finds nothing; a cursor that no search returned is refused', async () => {
    const { host } = await open()
    expect(await found(host, ' -- ')).toEqual([])
    await expect(host.search({ q: 'a', limit: 1, cursor: "1' OR" })).rejects.toMatchObject({
      code: 'validation_error',
    })
  })

  it('is refused by a host without an index', async () => {
    await using host = Object.assign(await createHost({ adapters: [], store: createMemoryStore() }), {
      [Symbol.asyncDispose]: async () => {},
    })
    await expect(host.search({ q: 'a', limit: 1 })).rejects.toMatchObject({ code: 'not_supported' })
    await host.close()
  })
})

describe('the index', () => {
  it('includes what was recorded before the host had one', async () => {
    const store = createMemoryStore()
    const first = await createHost({ adapters: [createScriptedAdapter()], store })
    const session = await run(first, 'an early walrus')
    await first.close()
    const { host } = await open({ store })
    await expect.poll(() => found(host, 'walrus', { in: ['prompt'] })).toMatchObject([{ session }])
  })

  it('includes a fork, whose events were copied', async () => {
    const { host } = await open()
    const session = await run(host, 'a prompt about newts')
    const { sessionId } = await host.command(session, { commandId: 'c', type: 'session.fork' })
    await expect
      .poll(async () => (await found(host, 'newts', { in: ['prompt'] })).map((hit) => hit.session).sort())
      .toEqual([session, sessionId].sort())
  })

  it('forgets a deleted session', async () => {
    const { host, index } = await open()
    const session = await run(host, 'a prompt about lynxes')
    expect(await found(host, 'lynxes', { in: ['prompt'] })).toHaveLength(1)
    await host.delete(session)
    await expect.poll(() => index.cursor(session)).toBeUndefined()
    expect(await index.find({ words: ['lynxes'], isLastPrefix: false, limit: 1 })).toMatchObject({ hits: [] })
  })

  it('forgets a session that was deleted while no host had an index', async () => {
    const { host, store, index } = await open()
    const session = await run(host, 'a prompt about otters')
    expect(await found(host, 'otters', { in: ['prompt'] })).toHaveLength(1)
    await run(host, 'another session')
    await found(host, 'another')
    await host.close()
    await store.delete(session)
    await open({ store, index })
    await expect.poll(() => index.cursor(session)).toBeUndefined()
  })

  it('forgets a redacted text, and keeps the rest of the session', async () => {
    const { host, index } = await open()
    const session = await run(host, 'a prompt about wolverines')
    const [hit] = (await host.search({ q: 'wolverines', limit: 1, in: ['prompt'] })).hits
    const seq = hit?.seq ?? (await promptSeq(host, session))
    expect(await found(host, 'wolverines', { in: ['prompt'] })).toHaveLength(1)
    const before = await index.cursor(session)
    await host.redact(session, { seq, reason: 'private' })
    expect(await found(host, 'wolverines', { in: ['prompt'] })).toEqual([])
    await expect.poll(async () => (await index.cursor(session))?.epoch).not.toBe(before?.epoch)
    await expect
      .poll(
        async () =>
          (await index.find({ words: ['wolverines'], isLastPrefix: false, kinds: ['prompt'], limit: 1 }))
            .hits,
      )
      .toEqual([])
  })
})

async function promptSeq(host: Host, session: string): Promise<number> {
  const { events } = await host.read(session, { limit: 100 })
  return events.find(({ json }) => json.includes('"prompt.submitted"'))?.seq ?? 0
}

describe('a principal with limits', () => {
  const limited = (limits: Principal['limits']): Principal => ({
    person: { id: 'per_1', name: 'Ada' },
    ...{ kind: 'token', id: 'tok_1', name: 'ci', scopes: new Set(['read']) },
    ...(limits && { limits }),
  })

  it('finds only sessions within the limits, even if many sessions outside them match first', async () => {
    const { host } = await open()
    const folder = folderForTest()
    const own = await run(host, 'a shared word')
    const hidden: string[] = []
    for (let n = 0; n < 5; n++) hidden.push(await run(host, 'a shared shared word', folder))
    const all = async (principal: Principal) => {
      const seen: string[] = []
      const guarded = hostFor(host, principal, 'http')
      let cursor: string | undefined
      do {
        const page = await guarded.search({
          q: 'shared',
          in: ['prompt'],
          limit: 2,
          ...(cursor && { cursor }),
        })
        seen.push(...page.hits.map(({ session }) => session.id))
        cursor = page.cursor
      } while (cursor)
      return seen.sort()
    }
    await found(host, 'shared')
    expect(await all(limited({ sessions: [own] }))).toEqual([own])
    expect(await all(limited({ folders: [{ folder }] }))).toEqual(hidden.sort())
    expect(await all(limited({ agents: ['other'] }))).toEqual([])
  })

  it('reveals no words or titles that only other sessions contain', async () => {
    const { host } = await open()
    const own = await run(host, 'an own word')
    for (let n = 0; n < 3; n++) await run(host, 'a hidden word', folderForTest())
    await found(host, 'hidden')
    for (const limits of [
      { sessions: [own] },
      { folders: [{ folder: '/nowhere' }] },
      { agents: ['other'] },
    ]) {
      const guarded = hostFor(host, limited(limits), 'http')
      expect(await guarded.search({ q: 'hidden', limit: 1 })).toEqual({ hits: [] })
      expect(await guarded.list({ q: 'hidden', limit: 1 })).toEqual({ sessions: [] })
    }
  })

  it('needs the scope read', async () => {
    const { host } = await open()
    const guarded = hostFor(host, { ...limited(undefined), scopes: new Set(['prompt']) }, 'http')
    await expect(guarded.search({ q: 'a', limit: 1 })).rejects.toMatchObject({ code: 'forbidden' })
  })
})
