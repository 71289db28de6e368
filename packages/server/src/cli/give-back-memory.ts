import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const settledMs = 500

/** Loading leaves a grown young generation behind, which V8 keeps for good: one full collection gives it back. */
export function giveBackMemorySoon(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as (options: Record<string, string>) => void
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, settledMs).unref()
}
