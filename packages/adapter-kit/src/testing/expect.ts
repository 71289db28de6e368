import { inspect, isDeepStrictEqual } from 'node:util'
import type { RuleName } from './rules.ts'

/** The violation of a rule that a case has found. `rule` names the broken rule, if it is not the rule of the case. */
export class Broken extends Error {
  override readonly name = 'Broken'
  readonly rule: RuleName | undefined

  constructor(found: string, rule?: RuleName) {
    super(found)
    this.rule = rule
  }
}

type Subject = {
  readonly actual: unknown
  readonly what: string | undefined
  readonly rule: RuleName | undefined
}

/** The checks of the cases. They need no test runner, and a failure names the checked value. */
export type Checks = {
  readonly not: Checks
  toBe(expected: unknown): void
  /** Compares values of any depth. A member that is undefined equals a missing member. */
  toEqual(expected: unknown): void
  /** Like `toEqual`, but objects may have more members than expected. */
  toMatchObject(expected: object): void
  toContain(expected: unknown): void
  toMatch(expected: RegExp): void
  toHaveLength(expected: number): void
  toBeGreaterThan(expected: number): void
  toBeLessThanOrEqual(expected: number): void
  toBeTypeOf(type: 'string' | 'object' | 'function'): void
  toBeUndefined(): void
  toBeDefined(): void
}

export function expect(actual: unknown, what?: string, rule?: RuleName): Checks {
  return checks({ actual, what, rule }, true)
}

function checks(subject: Subject, wanted: boolean): Checks {
  const { actual, what, rule } = subject
  const check = (holds: boolean, relation: string, expected?: readonly [unknown]) => {
    if (holds === wanted) return
    const rest = expected ? ` ${shown(expected[0])}` : ''
    const seen = `${shown(actual)} ${wanted ? 'does not' : 'does'} ${relation}${rest}`
    throw new Broken(what === undefined ? seen : `${what}: ${seen}`, rule)
  }
  return {
    get not() {
      return checks(subject, !wanted)
    },
    toBe: (expected) => check(Object.is(actual, expected), 'equal', [expected]),
    toEqual: (expected) => check(fits(actual, expected, false), 'equal', [expected]),
    toMatchObject: (expected) => check(fits(actual, expected, true), 'match', [expected]),
    toContain: (expected) => check(contains(actual, expected), 'contain', [expected]),
    toMatch: (expected) => check(expected.test(String(actual)), 'match', [expected]),
    toHaveLength: (expected) =>
      check((actual as readonly unknown[]).length === expected, 'have the length', [expected]),
    toBeGreaterThan: (expected) => check(Number(actual) > expected, 'exceed', [expected]),
    toBeLessThanOrEqual: (expected) => check(Number(actual) <= expected, 'stay within', [expected]),
    toBeTypeOf: (type) => check(typeof actual === type, 'have the type', [type]),
    toBeUndefined: () => check(actual === undefined, 'equal', [undefined]),
    toBeDefined: () => checks(subject, !wanted).toBeUndefined(),
  }
}

function contains(whole: unknown, part: unknown): boolean {
  if (typeof whole === 'string') return whole.includes(String(part))
  return Array.isArray(whole) && whole.includes(part)
}

function fits(actual: unknown, expected: unknown, partly: boolean): boolean {
  if (Array.isArray(expected))
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((one, index) => fits(actual[index], one, partly))
    )
  if (!isObject(expected) || !isObject(actual)) return isDeepStrictEqual(actual, expected)
  const keys = Object.keys(partly ? expected : { ...expected, ...actual })
  return keys.every((key) => fits(actual[key], expected[key], partly))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const longestValue = 1_500

export function shown(value: unknown): string {
  const text = inspect(value, { depth: 5, breakLength: 100, maxArrayLength: 20, maxStringLength: 400 })
  return text.length > longestValue ? `${text.slice(0, longestValue)} …` : text
}
