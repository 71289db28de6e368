import type { Migration } from './index.ts'

export const trustedFolders: Migration = {
  version: 2,
  sql: `
    CREATE TABLE trusted_folders (
      number INTEGER PRIMARY KEY,
      folder TEXT NOT NULL UNIQUE,
      trusted_at INTEGER NOT NULL
    );
  `,
}
