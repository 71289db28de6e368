/**
 * Adds a table of people, devices, tokens and invitations, moves the signed-in browsers into it, and adds a column for
 * the person who trusted a folder.
 */
export const accessRecords = {
  version: 7,
  sql: `
    CREATE TABLE access_records (
      number INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      data TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      used_at INTEGER,
      retired_at INTEGER,
      UNIQUE (kind, id)
    );
    INSERT INTO access_records (kind, id, data, created_at, used_at, retired_at)
      SELECT 'device', id, json_object('name', name, 'publicKey', public_key), created_at, last_seen_at, revoked_at
      FROM devices ORDER BY number;
    DROP TABLE devices;
    ALTER TABLE trusted_folders ADD COLUMN trusted_by TEXT;
  `,
}
