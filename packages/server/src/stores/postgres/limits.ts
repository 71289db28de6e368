import type { Limits } from '@parley/protocol'
import { safeText } from './session-columns.ts'

type Columns = {
  readonly id: string
  readonly agent: string
  readonly folder: string
  readonly place: string
}

/**
 * The SQL conditions under which a row is a session that the limits permit. `add` adds a parameter and returns its name.
 */
export function limitConditions(
  { sessions, agents, folders }: Limits,
  columns: Columns,
  add: (value: string) => string,
): string[] {
  const isOneOf = (column: string, values: readonly string[]) =>
    `${column} IN (${values.map((value) => add(safeText(value))).join(', ')})`
  const contains = ({ folder, place }: NonNullable<Limits['folders']>[number]) => {
    const isThere = place === undefined ? `${columns.place} IS NULL` : `${columns.place} = ${add(place)}`
    return `(${isThere} AND ${insideCondition(columns.folder, add(safeText(folder)))})`
  }
  return [
    ...(sessions ? [isOneOf(columns.id, sessions)] : []),
    ...(agents ? [isOneOf(columns.agent, agents)] : []),
    ...(folders ? [`(${folders.map(contains).join(' OR ')})`] : []),
  ]
}

/** The condition that the folder in a column is the folder in a parameter, or below it. */
export function insideCondition(column: string, parameter: string): string {
  return `(${column} = ${parameter} OR starts_with(${column}, rtrim(${parameter}, '/') || '/'))`
}
