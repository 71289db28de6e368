import { after, before, describe, it } from 'node:test'
import { calculatorSetup } from '../../../../examples/calculator-contract.ts'
import { adapterContract } from './adapter-contract.ts'

/** Registers the contract suite of the calculator with `node:test`. */
adapterContract('the calculator', calculatorSetup, { describe, it, before, after })
