/**
 * For agents that run on Bun. In a test, optimising their code, and collecting garbage concurrently and by a timer,
 * takes more processor time than it saves.
 */
export const bunSettings = {
  BUN_JSC_useDFGJIT: '0',
  BUN_JSC_useConcurrentGC: '0',
  BUN_GC_TIMER_DISABLE: '1',
} as const
