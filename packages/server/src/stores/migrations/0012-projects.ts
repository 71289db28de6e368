/**
 * Adds the projects of sessions, and their settings. `project` is null until a server has found the project of an older
 * session. Appending never changes these columns.
 */
export const projects = {
  version: 12,
  sql: `
    ALTER TABLE sessions ADD COLUMN project TEXT;
    ALTER TABLE sessions ADD COLUMN folder TEXT;
    CREATE INDEX sessions_of_projects ON sessions (project, folder);
    CREATE TABLE project_settings (
      project TEXT NOT NULL,
      field TEXT NOT NULL,
      value TEXT NOT NULL,
      changed_at INTEGER NOT NULL,
      changed_by TEXT,
      PRIMARY KEY (project, field)
    ) WITHOUT ROWID;
  `,
}
