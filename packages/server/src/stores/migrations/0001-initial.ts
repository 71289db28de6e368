/**
 * The first schema. All events are in one clustered table without a second index: the id of an event is
 * session key * 2^32 + seq, so each session is a range of ids. `state` is the last column of its row, so that
 * listing and searching do not read it.
 */
export const initial = {
  version: 1,
  sql: `
    CREATE TABLE sessions (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      epoch TEXT NOT NULL,
      agent TEXT NOT NULL,
      status TEXT NOT NULL,
      archived INTEGER NOT NULL,
      pinned INTEGER NOT NULL,
      unsettled INTEGER NOT NULL,
      waiting_since INTEGER,
      updated_at INTEGER NOT NULL,
      search TEXT NOT NULL,
      state TEXT NOT NULL
    );
    CREATE INDEX sessions_listed ON sessions (pinned DESC, updated_at DESC, id);
    CREATE INDEX sessions_unsettled ON sessions (id) WHERE unsettled = 1;
    CREATE INDEX sessions_waiting ON sessions (waiting_since, id) WHERE waiting_since IS NOT NULL;

    CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL);

    CREATE TABLE receipts (
      session_key INTEGER NOT NULL,
      command_id TEXT NOT NULL,
      hash TEXT NOT NULL,
      receipt TEXT NOT NULL,
      PRIMARY KEY (session_key, command_id)
    ) WITHOUT ROWID;

    CREATE TABLE checkpoints (
      session_key INTEGER NOT NULL,
      block INTEGER NOT NULL,
      field TEXT NOT NULL,
      part INTEGER NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (session_key, block, field, part)
    ) WITHOUT ROWID;

    CREATE TABLE rules (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session_id TEXT,
      rule TEXT NOT NULL
    );
  `,
}
