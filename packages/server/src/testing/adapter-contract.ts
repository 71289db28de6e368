import { type ContractSetup, adapterContract as register } from '@parley/adapter-kit/testing'
import { vitestRunner } from './vitest-runner.ts'

/** Registers the contract suite of adapters with Vitest. */
export function adapterContract(name: string, setup: ContractSetup): void {
  const { timeoutMs = 30_000 } = setup
  register(name, setup, vitestRunner(2 * timeoutMs))
}
