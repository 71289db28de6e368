import type { Migration } from './index.ts'

/** Variables for the processes of agents: secrets, so they are in no event. */
export const environments: Migration = {
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
