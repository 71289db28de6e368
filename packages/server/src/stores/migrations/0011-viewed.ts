/** Adds the changed files that people have viewed, each with the content that was viewed. */
export const viewed = {
  version: 11,
  sql: `
    CREATE TABLE viewed (
      number INTEGER PRIMARY KEY,
      session TEXT NOT NULL,
      person TEXT NOT NULL,
      path TEXT NOT NULL,
      blob TEXT NOT NULL
    );
    CREATE INDEX viewed_of_sessions ON viewed (session, person);
  `,
}
