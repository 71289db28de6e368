import type { SearchIndex } from '../core/search-index.ts'
import { SqliteSearchFile } from './sqlite-search-file.ts'

export function createMemorySearch(): SearchIndex {
  const index = new SqliteSearchFile(':memory:')
  return {
    cursor: async (sessionId) => index.cursor(sessionId),
    cursors: async () => index.cursors(),
    add: async (step) => index.add(step),
    remove: async (sessionId) => index.remove(sessionId),
    find: async (query) => index.find(query),
    close: async () => index.close(),
  }
}
