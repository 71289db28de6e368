import type { Migration } from './index.ts'

/** Sessions whose events are still being removed: that is done in steps, and a restart goes on with it. */
export const deletions: Migration = {
  version: 6,
  sql: `
    CREATE TABLE deletions (session_key INTEGER PRIMARY KEY);
  `,
}
