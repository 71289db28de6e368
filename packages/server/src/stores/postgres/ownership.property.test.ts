import { hasCode } from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventsOf, stateOf } from '../../testing/store-samples.ts'
import { openPostgresNode, type PostgresNode } from './index.ts'
import type { Lease } from './ownership.ts'
import { PostgresServer } from './postgres-under-test.ts'

/** Tests that no order of claims, releases, fences, deaths and writes lets two nodes write a session. */

const server = await PostgresServer.forFile()
const url = await server.database()
const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 15)
/** No lease expires during the test: only a fence ends a node. */
const lease: Lease = { leaseMs: 60_000, beatMs: 30_000, marginMs: 1_000 }
const nodeCount = 3
let schemas = 0

type Step = {
  readonly node: number
  readonly does: 'claim' | 'release' | 'append' | 'adopt' | 'fence' | 'race'
}

const steps = fc.array(
  fc.record<Step>({
    node: fc.nat(nodeCount - 1),
    does: fc.constantFrom(
      'claim',
      'claim',
      'release',
      'append',
      'append',
      'append',
      'adopt',
      'fence',
      'race',
    ),
  }),
  { minLength: 5, maxLength: 40, size: 'max' },
)

/** A node, with the term and the head of the session as the node assumes them. */
class Believer {
  readonly node: PostgresNode
  term: number | undefined

  constructor(node: PostgresNode) {
    this.node = node
  }

  /** Appends under the assumed term at the stored head. Returns whether the event was stored. */
  async append(): Promise<boolean> {
    if (this.term === undefined) return false
    const head = (await this.node.store.load('a'))?.head ?? 0
    try {
      await this.node.store.append({ sessionId: 'a', term: this.term, events: eventsOf('a', head + 1, 1) })
      return true
    } catch (thrown) {
      if (!hasCode(thrown, 'conflict')) throw thrown
      return false
    }
  }
}

it('lets at most one node write at any time, under terms that never decrease', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const schema = `property_${++schemas}`
      const open = (index: number) =>
        openPostgresNode({
          ...{ url, schema, connections: 2 },
          node: { url: `http://127.0.0.1:${index + 1}`, place: 'machine:here', lease },
        })
      const nodes = await Promise.all(Array.from({ length: nodeCount }, (_, index) => open(index)))
      const believers = nodes.map((node) => new Believer(node))
      try {
        await play(script, believers)
      } finally {
        await Promise.all(nodes.map(({ store }) => store.close()))
      }
    }),
    { numRuns: runs },
  )
})

async function play(script: readonly Step[], believers: readonly Believer[]): Promise<void> {
  const [first] = believers
  await first?.node.store.create({
    sessionId: 'a',
    epoch: 'e',
    state: stateOf('a', { connected: true }),
    events: [],
  })
  let owner: Believer | undefined
  let highest = 1
  let stored = 0
  const owned = (believer: Believer, term = 0) => {
    expect(term).toBeGreaterThan(highest)
    ;[owner, highest, believer.term] = [believer, term, term]
  }
  for (const { node: index, does } of script) {
    const believer = believers[index]
    if (!believer) continue
    const { ownership } = believer.node
    if (does === 'claim') {
      // A claim is refused as busy if the node was fenced and nobody else owns the session.
      const claim = await ownership.claim('a').catch((error) => {
        if (!hasCode(error, 'busy')) throw error
      })
      if (claim?.type === 'owned') owned(believer, claim.term)
    } else if (does === 'adopt') {
      for (const { term } of await ownership.adopt(5)) if (term !== believer.term) owned(believer, term)
    } else if (does === 'release' && believer.term !== undefined) {
      await ownership.release('a', believer.term)
    } else if (does === 'fence') {
      const fence = `UPDATE property_${schemas}.nodes SET fenced_at = now() WHERE id = ${ownership.node}`
      await server.admin((sql) => sql.unsafe(fence), url)
    } else if (does === 'append') {
      const isStored = await believer.append()
      expect(isStored).toBe(believer === owner && believer.term === highest)
      if (isStored) stored++
    } else if (does === 'race') {
      const results = await Promise.all(believers.map((one) => one.append()))
      expect(results.filter(Boolean).length).toBeLessThanOrEqual(1)
      stored += results.filter(Boolean).length
    }
  }
  const events = await first?.node.store.read('a', { limit: 1_000 })
  expect(events).toEqual(eventsOf('a', 1, stored))
}
