import { randomBytes } from 'node:crypto'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { openSqliteStore, type SqliteStore } from '../packages/server/src/stores/sqlite.ts'
import { stateOf } from '../packages/server/src/testing/store-samples.ts'
import { type Figure, mebibytes, milliseconds } from './lib/figure.ts'

const sessionId = 'ses_bench'
const eventBytes = 16_000

/**
 * The time in which `parley backup` copies the database while the server records, compared with a copy of the file, and
 * the longest delay of an append, compared with appends without a copy.
 */
export const backup: Figure = {
  name: 'backup',
  async measure({ quick, folder }) {
    const file = join(folder, 'parley.sqlite')
    const store = openSqliteStore({ file })
    let seq = 0
    const append = async () => {
      seq++
      const json = JSON.stringify({
        seq,
        type: 'text.written',
        text: randomBytes(eventBytes / 2).toString('hex'),
      })
      await store.append({ sessionId, events: [{ seq, json }] })
    }
    try {
      await store.create({ sessionId, epoch: 'e', state: stateOf(sessionId), events: [] })
      const bytes = quick ? 20_000_000 : 200_000_000
      while (seq * eventBytes < bytes) await append()
      const copied = await copyWhileWriting(store, join(folder, 'copy.sqlite'), append)
      const alone = await pausesDuring(copied.ms, append)
      const before = performance.now()
      copyFileSync(file, join(folder, 'plain.sqlite'))
      const plainMs = performance.now() - before
      const size = mebibytes(statSync(join(folder, 'copy.sqlite')).size)
      return [
        {
          figure: `copy of a database of ${size} during writes`,
          value: milliseconds(copied.ms),
          baseline: `${milliseconds(plainMs)} (a copy of the file)`,
          ratio: copied.ms / plainMs,
          data: { ms: copied.ms, plainMs },
        },
        {
          figure: 'longest append during the copy',
          value: milliseconds(copied.longest),
          baseline: `${milliseconds(alone)} (without a copy)`,
          ratio: copied.longest / alone,
          data: { longest: copied.longest, alone },
        },
      ]
    } finally {
      await store.close()
    }
  },
}

async function copyWhileWriting(store: SqliteStore, target: string, append: () => Promise<void>) {
  const since = performance.now()
  let isDone = false
  const copying = store.copyTo(target).finally(() => {
    isDone = true
  })
  const longest = await longestAppend(append, () => isDone)
  await copying
  return { ms: performance.now() - since, longest }
}

function pausesDuring(ms: number, append: () => Promise<void>): Promise<number> {
  const until = performance.now() + ms
  return longestAppend(append, () => performance.now() > until)
}

/** The longest time from one append to the next, including other work of the event loop. */
async function longestAppend(append: () => Promise<void>, isDone: () => boolean): Promise<number> {
  let longest = 0
  while (!isDone()) {
    const before = performance.now()
    await append()
    await setImmediate()
    longest = Math.max(longest, performance.now() - before)
  }
  return longest
}
