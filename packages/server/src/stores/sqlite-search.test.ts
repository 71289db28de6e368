import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { IndexStep } from '../core/search-index.ts'
import { searchIndexContract } from '../testing/search-index-contract.ts'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { createMemorySearch } from './memory-search.ts'
import { createSqliteSearch } from './sqlite-search.ts'

searchIndexContract('the index in a SQLite file', async () => {
  const folder = new TemporaryFolder()
  const index = createSqliteSearch(join(folder.path, 'search.sqlite'))
  const cleanup = async () => {
    await index.close()
    folder[Symbol.dispose]()
  }
  return { index, cleanup }
})

searchIndexContract('the index in memory', async () => {
  const index = createMemorySearch()
  return { index, cleanup: () => index.close() }
})

const step = (words: string, session = 'ses_1'): IndexStep => ({
  ...{ session, agent: 'demo', folder: '/code', from: undefined, to: { epoch: 'epo_1', seq: 1 } },
  entries: [{ seq: 1, kind: 'answer', words }],
})
const query = (word: string) => ({ words: [word], isLastPrefix: false, limit: 5 })

it('keeps what it has added when it is closed and opened again', async () => {
  using folder = new TemporaryFolder()
  const file = join(folder.path, 'search.sqlite')
  const first = createSqliteSearch(file)
  await first.add(step('kept'))
  await first.close()
  const second = createSqliteSearch(file)
  expect((await second.find(query('kept'))).hits).toMatchObject([{ session: 'ses_1', seq: 1 }])
  await second.close()
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

it('overwrites the words of a removed session in the file', async () => {
  using folder = new TemporaryFolder()
  const file = join(folder.path, 'search.sqlite')
  const index = createSqliteSearch(file)
  for (let n = 0; n < 50; n++) await index.add(step(`other${n} filler words`, `ses_other${n}`))
  await index.add(step('xqsecretwordzz'))
  await index.remove('ses_1')
  await index.close()
  const stored = readFileSync(file)
  expect(stored.includes('qsecretwordzz')).toBe(false)
  expect(stored.includes('filler')).toBe(true)
})

it('replaces a damaged file by an empty index', async () => {
  using folder = new TemporaryFolder()
  const file = join(folder.path, 'search.sqlite')
  writeFileSync(file, 'this is not a database'.repeat(1_000))
  const index = createSqliteSearch(file)
  expect(await index.cursors()).toEqual(new Map())
  await index.add(step('again'))
  expect((await index.find(query('again'))).hits).toHaveLength(1)
  await index.close()
})

it('refuses calls after it was closed', async () => {
  using folder = new TemporaryFolder()
  const index = createSqliteSearch(join(folder.path, 'search.sqlite'))
  await index.close()
  await expect(index.cursors()).rejects.toMatchObject({ code: 'internal_error' })
})
