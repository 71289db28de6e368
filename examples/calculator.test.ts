import { adapterContract } from '@parley/server/testing'
import { calculatorSetup } from './calculator-contract.ts'

/** Runs the contract suite of adapters on the calculator, with Vitest. */
adapterContract('the calculator', calculatorSetup)
