import { ParleyError } from '@parley/protocol'
import { type ContractSetup, contractHost } from '@parley/server/testing'
import { createCalculatorAdapter } from './calculator.ts'

const divide = { prompt: 'How much is 42 / 6?' }
const refuses = async () => {
  throw new ParleyError('agent_failed', 'The calculator does not start.')
}

/** The calculator for the contract suite: a prompt that exercises each capability that it declares. */
export const calculatorSetup: ContractSetup = {
  capabilities: createCalculatorAdapter().capabilities,
  start: async () => ({ adapter: createCalculatorAdapter, host: contractHost }),
  scenarios: {
    text: { prompt: 'Say hello', says: 'nothing to divide' },
    toolCall: divide,
    busy: { prompt: 'wait' },
    edit: { notPossible: 'it writes a result, and shows no change of a file' },
    crash: { notPossible: 'it has no process that could die' },
    unrecognised: { notPossible: 'it has no messages that it could misread' },
    unstartable: {
      adapter: () => ({ ...createCalculatorAdapter(), connect: refuses }),
      code: 'agent_failed',
    },
    streaming: { prompt: 'Say hello' },
    permissions: { ...divide, effect: { path: 'result.txt', text: '7' } },
    interrupt: {},
  },
}
