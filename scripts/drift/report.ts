import { visible } from '@parley/protocol'
import type { CaseChange } from './cases.ts'
import type { ShapeChange } from './shapes.ts'

/** The version of the JSON report. It grows if a field changes its meaning or is removed. */
export const reportSchema = 1

export type Change =
  | CaseChange
  | ShapeChange
  | { readonly kind: 'type-declared' | 'type-undeclared'; readonly type: string }

export type AgentReport = {
  readonly agent: string
  readonly package: string
  /** The version that this version of Parley is tested with. */
  readonly tested: string
  /** The version that was compared with it. Absent if it could not be found out. */
  readonly examined?: string
  /** `same`: there is no other release. `failed`: the examination did not end; `problem` gives the reason. */
  readonly status: 'same' | 'no-drift' | 'drift' | 'failed'
  readonly changes: readonly Change[]
  /** The number of test cases that were run with the other release. */
  readonly cases?: number
  /** The number of scenarios that were recorded with it. */
  readonly scenarios?: number
  readonly problem?: string
}

export type Report = {
  readonly schema: typeof reportSchema
  /** When the examination began, in milliseconds since 1970. */
  readonly at: number
  readonly parley: string
  readonly node: string
  readonly platform: string
  readonly result: 'no-drift' | 'drift' | 'failed'
  readonly agents: readonly AgentReport[]
}

/** The exit code of the command. An examination that did not end is more important than drift: the result is incomplete. */
export const exitCodes = { 'no-drift': 0, drift: 1, failed: 2 } as const

export function reportOf(
  agents: readonly AgentReport[],
  about: Pick<Report, 'at' | 'parley' | 'node' | 'platform'>,
): Report {
  const has = (status: AgentReport['status']) => agents.some((one) => one.status === status)
  const result = has('failed') ? 'failed' : has('drift') ? 'drift' : 'no-drift'
  return { schema: reportSchema, ...about, result, agents }
}

/** The maximum number of changes of each kind that are printed for an agent. The JSON report contains all of them. */
const shown = 15

/** The report for people: a table of the agents, then the changes of each. */
export function reportText({ agents }: Report): string {
  const rows = agents.map((one) => [one.agent, one.tested, one.examined ?? '?', verdictOn(one)])
  const lines = [...table([['agent', 'tested', 'examined', 'result'], ...rows]), ...agents.flatMap(details)]
  // Names and failures come from programs that nobody has tested.
  return lines.map(visible).join('\n')
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function verdictOn({ status, changes, cases = 0, scenarios = 0, problem = '' }: AgentReport): string {
  if (status === 'same') return 'the tested version is the newest'
  if (status === 'failed') return `not examined: ${problem.split('\n')[0]}`
  const ran = `${cases} cases, ${scenarios} scenarios`
  if (status === 'no-drift') return `no change (${ran})`
  const counts = groups
    .map(([name, , has]) => [name, changes.filter(has).length] as const)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name}: ${count}`)
  return `${counts.join(', ')} (${ran})`
}

const isOf =
  (...kinds: Change['kind'][]) =>
  ({ kind }: Change) =>
    kinds.includes(kind)

/** The kinds of changes in the order of their importance, with the line for one change. */
const groups: readonly (readonly [name: string, heading: string, has: (change: Change) => boolean])[] = [
  ['failing cases', 'cases that fail, and do not fail with the tested version', isOf('case-fails')],
  [
    'declared types',
    'types of messages that the release declares, and the tested one does not',
    isOf('type-declared'),
  ],
  [
    'undeclared types',
    'types of messages that the release does not declare any more',
    isOf('type-undeclared'),
  ],
  ['new types', 'types of messages that are new', isOf('type-appeared')],
  ['vanished types', 'types of messages that no longer occur', isOf('type-vanished')],
  ['vanished fields', 'fields that no longer occur', isOf('field-vanished')],
  ['changed fields', 'fields whose values have another type', isOf('field-changed')],
  ['new fields', 'fields that are new', isOf('field-appeared')],
]

function details({ agent, tested, examined, status, changes, problem = '' }: AgentReport): string[] {
  const title = `${agent} ${tested} → ${examined}`
  if (status === 'failed') return ['', title, ...problem.split('\n').map((line) => `  ${line}`)]
  if (changes.length === 0) return []
  const lines = groups.flatMap(([, heading, has]) => {
    const found = changes.filter(has)
    if (found.length === 0) return []
    const more = found.length > shown ? [`    … and ${found.length - shown} more: see --json`] : []
    return [`  ${heading}`, ...found.slice(0, shown).flatMap(linesOf), ...more]
  })
  return ['', title, ...lines]
}

function linesOf(change: Change): string[] {
  switch (change.kind) {
    case 'case-fails':
      return [
        `    ${change.suite}: ${change.name}`,
        ...change.failure.split('\n').map((line) => `      ${line}`),
      ]
    case 'type-appeared':
    case 'type-vanished':
      return [`    ${change.type}  (in ${change.scenarios.slice(0, 3).join(', ')})`]
    case 'type-declared':
    case 'type-undeclared':
      return [`    ${change.type}`]
    case 'field-changed':
      return [`    ${change.type}  ${change.path}: ${change.before.join('|')} → ${change.after.join('|')}`]
    default:
      return [`    ${change.type}  ${change.path}`]
  }
}
