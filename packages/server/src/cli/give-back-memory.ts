import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const settledMs = 500

/** Loading grows the young generation of the heap, which V8 keeps: one full collection returns that memory. */
export function giveBackMemorySoon(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as (options: Record<string, string>) => void
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, settledMs).unref()
}
