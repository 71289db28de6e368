/** Adds decision links. `slot` counts the links of a request, so that their number is limited. */
export const decideLinks = {
  version: 10,
  sql: `
    CREATE TABLE decide_links (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      hash TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL,
      request TEXT NOT NULL,
      slot INTEGER NOT NULL,
      input_hash TEXT NOT NULL,
      decisions TEXT NOT NULL,
      name TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      used_at INTEGER,
      revoked_at INTEGER,
      UNIQUE (session, request, slot)
    );
    CREATE INDEX decide_links_expiring ON decide_links (expires_at);
  `,
}
