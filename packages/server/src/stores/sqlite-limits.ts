import type { Limits } from '@parley/protocol'

export type Condition = readonly [sql: string, ...values: (string | number)[]]

/**
 * The conditions under which a row is a session that the limits permit. The columns `id`, `agent` and `folder` have this
 * prefix. Sessions in SQLite have no place, so a folder at a place contains none of them.
 */
export function limitConditions({ sessions, agents, folders }: Limits, prefix = ''): Condition[] {
  const conditions: Condition[] = []
  const isOneOf = (column: string, values: readonly string[]) =>
    conditions.push([`${prefix}${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)])
  if (sessions) isOneOf('id', sessions)
  if (agents) isOneOf('agent', agents)
  if (folders) {
    const inside = folders
      .filter(({ place }) => place === undefined)
      .map(({ folder }) => insideCondition(folder, prefix))
    const sql = inside.map(([one]) => one).join(' OR ') || 'FALSE'
    conditions.push([`(${sql})`, ...inside.flatMap(([, ...values]) => values)])
  }
  return conditions
}

/** The condition that the folder of a row is this folder, or below it. */
export function insideCondition(folder: string, prefix = ''): Condition {
  const start = folder.endsWith('/') ? folder : `${folder}/`
  const column = `${prefix}folder`
  return [`(${column} = ? OR substr(${column}, 1, length(?)) = ?)`, folder, start, start]
}
