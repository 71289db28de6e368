/** Adds the targets of alerts, the deliveries to them, and the cursors up to which logs were searched for alerts. */
export const alerts = {
  version: 8,
  sql: `
    CREATE TABLE alert_targets (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      data TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last TEXT
    );
    CREATE TABLE alert_cursors (session TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE alert_deliveries (
      number INTEGER PRIMARY KEY,
      target TEXT NOT NULL,
      alert TEXT NOT NULL,
      session TEXT NOT NULL,
      subject TEXT NOT NULL,
      body TEXT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      next_at INTEGER NOT NULL,
      claimed_until INTEGER,
      expires_at INTEGER NOT NULL,
      done_at INTEGER,
      sent INTEGER NOT NULL DEFAULT 0,
      UNIQUE (target, alert)
    );
    CREATE INDEX alert_deliveries_due ON alert_deliveries (next_at, number) WHERE done_at IS NULL;
    CREATE INDEX alert_deliveries_of_subjects ON alert_deliveries (subject, target, number);
    CREATE INDEX alert_deliveries_of_sessions ON alert_deliveries (session);
    CREATE TABLE alert_keys (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  `,
}
