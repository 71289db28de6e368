/**
 * Adds a table of the sessions whose events are still being deleted. Deletion runs in steps, and a restart
 * resumes it.
 */
export const deletions = {
  version: 6,
  sql: `
    CREATE TABLE deletions (session_key INTEGER PRIMARY KEY);
  `,
}
