export const trustedFolders = {
  version: 2,
  sql: `
    CREATE TABLE trusted_folders (
      number INTEGER PRIMARY KEY,
      folder TEXT NOT NULL UNIQUE,
      trusted_at INTEGER NOT NULL
    );
  `,
}
