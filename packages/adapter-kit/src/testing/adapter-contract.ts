import type { ContractSetup, ContractWorld } from './contract/setup.ts'
import { SharedBench } from './contract/shared-bench.ts'
import { contractCases } from './contract-cases.ts'
import { finish, runAlone, runCase, validLogs } from './run-case.ts'

/**
 * The functions of a test runner with which the suite registers its cases: those of `node:test`, or of Vitest with
 * `beforeAll` as `before` and `afterAll` as `after`.
 */
export type TestRunner = {
  describe(title: string, define: () => void): unknown
  it(title: string, options: { readonly timeout: number }, run: () => Promise<void>): unknown
  before(run: () => Promise<void>): unknown
  after(run: () => Promise<void>): unknown
}

/** The runner waits longer than the suite, because the suite says what it waited for. */
const moreMs = 20_000

/**
 * Tests every rule of the port `AgentAdapter` on a real host, for any agent. Each capability has a case. A declared
 * capability must be demonstrated. An undeclared capability is reported as not supported, and commands that need it
 * must be refused. A general case that is not possible with an agent (its scenario gives the reason) is not run here;
 * the adapter tests it in another way. A failure names the broken rule, what the adapter did, and where the rule is
 * explained.
 */
export function adapterContract(name: string, setup: ContractSetup, runner: TestRunner): void {
  const { describe, it, before, after } = runner
  const { timeoutMs = 30_000 } = setup
  const options = { timeout: timeoutMs + moreMs }
  describe(`${name} satisfies the contract of an adapter`, () => {
    const cases = contractCases(setup)
    let world: ContractWorld
    before(async () => {
      world = await setup.start()
    })
    after(async () => world.stop?.())
    for (const one of cases.filter(({ shared }) => !shared))
      it(one.title, options, () => runAlone(one, world, timeoutMs))

    describe('in shared sessions', () => {
      let bench: SharedBench
      before(async () => {
        bench = await SharedBench.open(world)
      })
      after(() => finish(bench, runCase(validLogs, bench, timeoutMs), timeoutMs))
      for (const order of [true, 'last'] as const)
        for (const one of cases.filter(({ shared }) => shared === order))
          it(one.title, options, () => bench.run(() => runCase(one, bench, timeoutMs)))
    })
  })
}
