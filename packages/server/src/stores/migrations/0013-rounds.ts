/** Adds the round of which a session is an attempt. Appending never changes this column. */
export const rounds = {
  version: 13,
  sql: `
    ALTER TABLE sessions ADD COLUMN round TEXT;
    CREATE INDEX sessions_in_rounds ON sessions (pinned DESC, updated_at DESC, id) WHERE round IS NOT NULL;
  `,
}
