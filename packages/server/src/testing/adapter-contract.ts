import { type ContractSetup, adapterContract as register } from '@parley/adapter-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from './peers.ts'

/** Registers the contract suite of adapters with Vitest. */
export function adapterContract(name: string, setup: ContractSetup): void {
  const { timeoutMs = 30_000 } = setup
  register(name, setup, {
    describe,
    it: (title, options, run) => it(title, options, async () => expect(await run()).toBeUndefined()),
    before: (run) => beforeAll(run, timeoutMs),
    after: (run) => afterAll(run, 2 * timeoutMs),
  })
}
