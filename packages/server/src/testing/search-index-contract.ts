import { defined, type Limits, type SearchKind } from '@parley/protocol'
import type { IndexCursor, IndexEntry, IndexQuery, SearchIndex } from '../core/search-index.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'
import { randomFrom } from './random-from.ts'

export type SearchIndexUnderTest = {
  readonly index: SearchIndex
  /** Makes a session with this epoch known, if the index is in the database of the sessions. */
  addSession?(sessionId: string, epoch: string): Promise<void>
  cleanup(): Promise<void>
}

/** Tests every rule of the port `SearchIndex`, for any index. */
export function searchIndexContract(name: string, open: () => Promise<SearchIndexUnderTest>): void {
  describe(`${name} satisfies the contract of a search index`, () => {
    let tested: SearchIndexUnderTest
    let world: World
    beforeEach(async () => {
      tested = await open()
      world = worldOf(tested)
    })
    afterEach(() => tested.cleanup())
    stepCases(() => world)
    matchCases(() => world)
    filterCases(() => world)
    pageCases(() => world)
    scanCases(() => world)
  })
}

type World = {
  readonly index: SearchIndex
  /** Adds entries as the first step of a new session. */
  put(
    sessionId: string,
    entries: readonly IndexEntry[],
    about?: { agent?: string; folder?: string },
  ): Promise<void>
  /** The hits of a query as `session:seq`. */
  find(words: string, query?: Partial<IndexQuery>): Promise<string[]>
}

function worldOf({ index, addSession }: SearchIndexUnderTest): World {
  return {
    index,
    async put(session, entries, { agent = 'demo', folder = '/code' } = {}) {
      await addSession?.(session, 'epo_1')
      const to = { epoch: 'epo_1', seq: entries.at(-1)?.seq ?? 1 }
      expect(await index.add({ session, agent, folder, from: undefined, to, entries })).toBe(true)
    },
    async find(words, query) {
      const given = { words: words.split(' '), isLastPrefix: false, limit: 100, ...query }
      return (await index.find(given)).hits.map(({ session, seq }) => `${session}:${seq}`)
    },
  }
}

const entry = (seq: number, words: string, kind: SearchKind = 'answer'): IndexEntry => ({ seq, kind, words })

function stepCases(get: () => World): void {
  const about = { session: 'ses_1', agent: 'demo', folder: '/code' }

  it('adds entries and moves the cursor together', async () => {
    const { index, put, find } = get()
    expect(await index.cursor('ses_1')).toBeUndefined()
    await put('ses_1', [entry(3, 'red fox')])
    const from = { epoch: 'epo_1', seq: 3 }
    expect(await index.cursor('ses_1')).toEqual(from)
    const to = { epoch: 'epo_1', seq: 9 }
    expect(await index.add({ ...about, from, to, entries: [entry(5, 'red deer')] })).toBe(true)
    expect(await index.cursors()).toEqual(new Map([['ses_1', to]]))
    expect((await find('red')).sort()).toEqual(['ses_1:3', 'ses_1:5'])
  })

  it('refuses a step from another cursor, without an effect', async () => {
    const { index, put, find } = get()
    await put('ses_1', [entry(3, 'red fox')])
    const to = { epoch: 'epo_1', seq: 9 }
    const entries = [entry(5, 'blue')]
    for (const from of [undefined, { epoch: 'epo_1', seq: 2 }, { epoch: 'epo_0', seq: 3 }])
      expect(await index.add({ ...about, from, to, entries })).toBe(false)
    expect(await find('blue')).toEqual([])
    expect(await index.cursor('ses_1')).toEqual({ epoch: 'epo_1', seq: 3 })
  })

  it('refuses to continue a session that it does not know', async () => {
    const { index, find } = get()
    const step = { from: { epoch: 'epo_1', seq: 3 }, to: { epoch: 'epo_1', seq: 9 } }
    expect(await index.add({ ...about, ...step, entries: [entry(5, 'blue')] })).toBe(false)
    expect(await index.cursor('ses_1')).toBeUndefined()
    expect(await find('blue')).toEqual([])
  })

  it('accepts one of several processes that index the same events', async () => {
    const { index, put, find } = get()
    await put('ses_1', [entry(1, 'start')])
    const step = { ...about, from: { epoch: 'epo_1', seq: 1 }, to: { epoch: 'epo_1', seq: 2 } }
    const added = await Promise.all(
      Array.from({ length: 5 }, () => index.add({ ...step, entries: [entry(2, 'once')] })),
    )
    expect(added.filter(Boolean)).toHaveLength(1)
    expect(await find('once')).toEqual(['ses_1:2'])
  })

  it('removes a session, and only that one', async () => {
    const { index, put, find } = get()
    await put('ses_1', [entry(1, 'shared first'), entry(2, 'shared second')])
    await put('ses_2', [entry(1, 'shared third')])
    await index.remove('ses_1')
    await index.remove('ses_missing')
    expect(await find('shared')).toEqual(['ses_2:1'])
    expect(await index.cursor('ses_1')).toBeUndefined()
    await put('ses_1', [entry(1, 'shared again')])
    expect((await find('shared')).sort()).toEqual(['ses_1:1', 'ses_2:1'])
  })
}

function matchCases(get: () => World): void {
  it('finds entries with all words, and the last one by its beginning if asked', async () => {
    const { put, find } = get()
    await put('ses_1', [entry(1, 'the quick brown fox'), entry(2, 'the slow brown bear'), entry(3, 'quick')])
    expect(await find('quick brown')).toEqual(['ses_1:1'])
    expect(await find('brown qui')).toEqual([])
    expect(await find('brown qui', { isLastPrefix: true })).toEqual(['ses_1:1'])
    expect(await find('bro quick', { isLastPrefix: true })).toEqual([])
  })

  it('treats words of a query as words, whatever they mean to the database', async () => {
    const { put, find } = get()
    await put('ses_1', [entry(1, 'and or not near null 東京 größe 42')])
    for (const word of ['and', 'or', 'not', 'near', 'null', '東京', 'größe', '42'])
      expect(await find(word)).toEqual(['ses_1:1'])
    expect(await find('and or not near')).toEqual(['ses_1:1'])
    for (const hostile of ['"', "'", '*', '(', ':*', 'a" OR "b', "x' | 'y", '\\', '!'])
      expect(await get().index.find({ words: [hostile], isLastPrefix: true, limit: 5 })).toMatchObject({
        hits: [],
      })
  })
}

function filterCases(get: () => World): void {
  it('filters by kind, agent, session and folder', async () => {
    const { put, find } = get()
    await put('ses_1', [entry(1, 'word', 'prompt'), entry(2, 'word', 'call'), entry(3, 'word', 'output')], {
      agent: 'claude',
      folder: '/code/one',
    })
    await put('ses_2', [entry(1, 'word')], { folder: '/code/one_more%' })
    await put('ses_3', [entry(1, 'word')], { folder: '/code' })
    const sorted = async (query: Partial<IndexQuery>) => (await find('word', query)).sort()
    expect(await sorted({ kinds: ['prompt', 'output'] })).toEqual(['ses_1:1', 'ses_1:3'])
    expect(await sorted({ agent: 'demo' })).toEqual(['ses_2:1', 'ses_3:1'])
    expect(await sorted({ session: 'ses_2' })).toEqual(['ses_2:1'])
    expect(await sorted({ folder: '/code/one' })).toEqual(['ses_1:1', 'ses_1:2', 'ses_1:3'])
    expect(await sorted({ folder: '/code', kinds: ['answer'] })).toEqual(['ses_2:1', 'ses_3:1'])
    expect(await sorted({ folder: '/', kinds: ['answer'] })).toEqual(['ses_2:1', 'ses_3:1'])
    expect(await sorted({ folder: '/cod' })).toEqual([])
  })

  it('finds only entries that the limits permit, and its cursors reveal no other entries', async () => {
    const { index, put, find } = get()
    await put('ses_1', [entry(1, 'word'), entry(2, 'word')], { agent: 'claude', folder: '/code/one' })
    await put('ses_2', [entry(1, 'word')], { folder: '/code/one_more' })
    const sorted = async (within: Limits) => (await find('word', { within })).sort()
    const folder = (path: string, place?: string): Limits => ({
      folders: [{ folder: '/nowhere' }, { folder: path, ...defined({ place }) }],
    })
    expect(await sorted({})).toEqual(['ses_1:1', 'ses_1:2', 'ses_2:1'])
    expect(await sorted({ agents: ['claude', 'other'] })).toEqual(['ses_1:1', 'ses_1:2'])
    expect(await sorted({ sessions: ['ses_2', 'ses_3'] })).toEqual(['ses_2:1'])
    expect(await sorted(folder('/code/one'))).toEqual(['ses_1:1', 'ses_1:2'])
    expect(await sorted(folder('/code', 'elsewhere'))).toEqual([])
    expect(await sorted({ ...folder('/code'), agents: ['demo'] })).toEqual(['ses_2:1'])
    const within = { sessions: ['ses_2'] }
    const page = await index.find({ words: ['word'], isLastPrefix: false, within, limit: 1 })
    expect(page.cursor).toBeUndefined()
  })
}

function pageCases(get: () => World): void {
  it('returns what was added last first, in pages without a gap', async () => {
    const { index, put } = get()
    await put('ses_1', [entry(1, 'word', 'output'), entry(2, 'word', 'prompt'), entry(3, 'word', 'call')])
    await put('ses_2', [entry(1, 'word'), entry(2, 'other'), entry(3, 'word')])
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await index.find({
        words: ['word'],
        isLastPrefix: false,
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      })
      seen.push(...page.hits.map(({ session, seq }) => `${session}:${seq}`))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(seen).toEqual(['ses_2:3', 'ses_2:1', 'ses_1:3', 'ses_1:2', 'ses_1:1'])
  })

  it('continues its pages without a gap or a repeat while sessions are added and removed', async () => {
    const { index, put } = get()
    const entries = [1, 2, 3, 4].map((seq) => entry(seq, 'word'))
    for (const session of ['ses_1', 'ses_2', 'ses_3']) await put(session, entries)
    let cursor: string | undefined
    const page = async () => {
      const query = { words: ['word'], isLastPrefix: false, limit: 3, ...defined({ cursor }) }
      const found = await index.find(query)
      cursor = found.cursor
      return found.hits.map(({ session, seq }) => `${session}:${seq}`)
    }
    expect(await page()).toEqual(['ses_3:4', 'ses_3:3', 'ses_3:2'])
    await put('ses_4', entries)
    await index.remove('ses_2')
    expect(await page()).toEqual(['ses_3:1', 'ses_1:4', 'ses_1:3'])
    await put('ses_2', entries)
    expect(await page()).toEqual(['ses_1:2', 'ses_1:1'])
    expect(cursor).toBeUndefined()
  })

  it('returns the newest of very many matches', async () => {
    const { index, put } = get()
    const count = 6_000
    await put(
      'ses_1',
      Array.from({ length: count }, (_, n) => entry(n + 1, 'common')),
    )
    const query = { words: ['common'], isLastPrefix: false, limit: 4 }
    const first = await index.find(query)
    const second = await index.find({ ...query, ...(first.cursor !== undefined && { cursor: first.cursor }) })
    const seqs = [...first.hits, ...second.hits].map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: 8 }, (_, n) => count - n))
  })
}

const steps = Number(process.env.PARLEY_PROPERTY_RUNS ?? 40)
const someWords = ['a', 'ab', 'abc', 'b', 'ba', 'größe', '東京', '東西', '𐌰', '𐌰𐌱', 'ﬀ', '42', 'x'.repeat(64)]

function scanCases(get: () => World): void {
  it('finds what a scan of all entries finds, whatever was added and removed before', async () => {
    const { put, index, find } = get()
    const random = randomFrom(16)
    const some = (count: number) => Math.floor(random() * count)
    const word = () => someWords[some(someWords.length)] ?? ''
    let added: { session: string; seq: number; kind: SearchKind; words: string[] }[] = []
    const cursors = new Map<string, IndexCursor>()
    const add = async (session: string) => {
      const from = cursors.get(session)
      const kind: SearchKind = some(2) === 0 ? 'prompt' : 'output'
      const made = Array.from({ length: 1 + some(4) }, (_, n) => {
        return {
          session,
          seq: (from?.seq ?? 0) + 1 + n,
          kind,
          words: Array.from({ length: 1 + some(5) }, word),
        }
      })
      const entries = made.map(({ seq, words }) => entry(seq, words.join(' '), kind))
      const to = { epoch: 'epo_1', seq: entries.at(-1)?.seq ?? 1 }
      if (!from) await put(session, entries)
      else expect(await index.add({ session, agent: 'demo', folder: '/code', from, to, entries })).toBe(true)
      cursors.set(session, to)
      added.push(...made)
    }
    const compare = async (words: string[]) => {
      const isLastPrefix = some(2) === 0
      const has = (one: readonly string[], wanted: string, place: number) =>
        one.some(
          (each) =>
            each === wanted || (isLastPrefix && place === words.length - 1 && each.startsWith(wanted)),
        )
      const filter =
        some(3) === 0 ? { session: `ses_${some(6)}` } : some(3) === 0 ? { kinds: ['prompt' as const] } : {}
      const expected = added.filter(
        (one) =>
          words.every((wanted, place) => has(one.words, wanted, place)) &&
          (filter.session ?? one.session) === one.session &&
          (filter.kinds ?? [one.kind]).some((kind) => kind === one.kind),
      )
      const shown = expected.map(({ session, seq }) => `${session}:${seq}`).reverse()
      const limit = 1 + some(20)
      expect(await find(words.join(' '), { isLastPrefix, limit, ...filter })).toEqual(shown.slice(0, limit))
    }
    for (let step = 0; step < steps; step++) {
      const session = `ses_${some(6)}`
      await add(session)
      if (some(8) === 0) {
        await index.remove(session)
        cursors.delete(session)
        added = added.filter((one) => one.session !== session)
      }
      await compare([word()])
      await compare([word(), word()])
    }
  })
}
