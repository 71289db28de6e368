import { join } from 'node:path'

/** The recordings of an adapter: those beside it, or those in the folder that `PARLEY_TEST_RECORDINGS` names. */
export function recordingsFolder(adapter: string): string {
  return process.env.PARLEY_TEST_RECORDINGS ?? join(adapter, 'fixtures')
}
