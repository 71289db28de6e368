/** For agents that run on Bun. In a test, optimising their code takes more processor time than it saves. */
export const bunSettings = { BUN_JSC_useDFGJIT: '0' } as const
