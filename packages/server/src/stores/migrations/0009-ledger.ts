/** Adds the ledger, the queue of its drafts, and the public keys with which seals and entries are verified. */
export const ledger = {
  version: 9,
  sql: `
    CREATE TABLE ledger (
      n INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      actor TEXT,
      address TEXT,
      data TEXT,
      prev TEXT NOT NULL,
      key_id TEXT NOT NULL,
      hash TEXT NOT NULL,
      signature TEXT NOT NULL
    );
    CREATE INDEX ledger_of_subjects ON ledger (subject, n);
    CREATE TABLE ledger_queue (id INTEGER PRIMARY KEY, draft TEXT NOT NULL);
    CREATE TABLE seal_keys (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      public_key TEXT NOT NULL,
      added_at INTEGER NOT NULL
    );
  `,
}
