import { exitCodes } from './failure.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * The first signal calls `stop`; the second ends the program at once. In raw mode Ctrl-C sends no signal, so the
 * caller must call `interrupt`.
 */
export function onInterrupt(stop: () => void): { interrupt(): void; [Symbol.dispose](): void } {
  let isStopping = false
  const interrupt = () => {
    if (isStopping) process.exit(exitCodes.cancelled)
    isStopping = true
    stop()
  }
  for (const signal of signals) process.on(signal, interrupt)
  return {
    interrupt,
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, interrupt)
    },
  }
}
