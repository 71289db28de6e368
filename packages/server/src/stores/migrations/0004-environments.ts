/** Adds a table of the variables for agents' processes. They are secrets, so no event contains them. */
export const environments = {
  version: 4,
  sql: `
    CREATE TABLE environments (
      number INTEGER PRIMARY KEY,
      scope TEXT NOT NULL,
      place TEXT NOT NULL,
      variables TEXT NOT NULL,
      UNIQUE (scope, place)
    );
  `,
}
