/** Adds a table of the signed-in browsers, each with the public half of its key. */
export const devices = {
  version: 5,
  sql: `
    CREATE TABLE devices (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      public_key TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      revoked_at INTEGER
    );
  `,
}
