import { Bench } from './contract/bench.ts'
import type { ContractWorld } from './contract/setup.ts'
import { type ContractCase, sentenceOf } from './contract-cases.ts'
import { Broken } from './expect.ts'
import { generalRules, type RuleName, readAbout } from './rules.ts'

/** The failure of a case: the broken rule, what the adapter did, and where the rule is explained. */
export class ContractFailure extends Error {
  override readonly name = 'ContractFailure'
  readonly rule: RuleName
  readonly read: string

  constructor(
    rule: RuleName,
    { says, found, bench }: { says: string; found: readonly string[]; bench: Bench },
  ) {
    const read = readAbout(rule)
    const did = bench.witness.describe()
    super(
      [
        `This rule of adapters is broken: ${says}`,
        ...found.map((one, index) => `${index === 0 ? 'Found' : 'And'}: ${one}`),
        `What happened:\n${did || '  nothing'}`,
        ...bench.describeSessions(),
        `Read: ${read}`,
      ].join('\n'),
    )
    this.rule = rule
    this.read = read
  }
}

/** Checks the logs of all sessions of a bench. */
export const validLogs: Pick<ContractCase, 'rule' | 'says' | 'run'> = {
  rule: 'close',
  says: generalRules.close,
  run: (bench) => bench.expectValidLogs(),
}

const cleanUpMs = 5_000

/** Runs a case on a bench of its own, and then checks that every log it created satisfies the rules. */
export async function runAlone(one: ContractCase, world: ContractWorld, limitMs: number): Promise<void> {
  const bench = await Bench.open(world, one.adapter?.(world))
  const work = async () => {
    await runCase(one, bench, limitMs)
    await runCase(validLogs, bench, limitMs)
  }
  await finish(bench, work(), limitMs)
}

/**
 * Releases everything that a bench holds when the work is over. If the work failed, the release delays the failure only
 * for a limited time.
 */
export async function finish(bench: Bench, work: Promise<void>, limitMs: number): Promise<void> {
  const failed = await work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  const released = bench[Symbol.asyncDispose]()
  if (!failed) return released
  await within(Math.min(limitMs, cleanUpMs), () => 'the release of the case', released).catch(() => undefined)
  throw failed.error
}

/** Runs a case on a bench. Rejects with a ContractFailure if a rule is broken, or after a time limit. */
export async function runCase(
  { rule, says, run }: Pick<ContractCase, 'rule' | 'says' | 'run'>,
  bench: Bench,
  limitMs: number,
): Promise<void> {
  const { witness } = bench
  const late = () => {
    const { what, rule } = witness.waitedFor
    return new Broken(`the suite has waited ${limitMs / 1000} s for ${what}`, rule)
  }
  const thrown: unknown[] = await within(limitMs, late, run(bench)).then(
    () => [],
    (error) => [error],
  )
  const problems = [...witness.broken.splice(0), ...thrown]
  const [first] = problems
  if (first === undefined) return
  const broken = first instanceof Broken && first.rule !== undefined ? first.rule : rule
  const sentence = broken === rule ? says : sentenceOf(broken)
  throw new ContractFailure(broken, { says: sentence, found: problems.map(textOf), bench })
}

function textOf(problem: unknown): string {
  if (problem instanceof Broken || !(problem instanceof Error))
    return String(problem instanceof Broken ? problem.message : problem)
  return `${problem.name}: ${problem.message}`
}

function within<Result>(ms: number, late: () => unknown, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
