import type { AgentOutput } from './agent-adapter.ts'

/**
 * Passes outputs to one reader. A writer that awaits each `put` is blocked while the reader is busy; only outputs
 * that are put without waiting are buffered.
 */
export type OutputQueue = {
  readonly outputs: AsyncIterable<AgentOutput>
  /** Resolves when the reader has processed the output and asks for the next one, or if the queue has ended. */
  put(output: AgentOutput): Promise<void>
  /** Ends the queue. Outputs put before are still read; later ones are dropped. */
  end(): void
}

type Waiting = { readonly output: AgentOutput; readonly processed: () => void }
type Taken = IteratorResult<AgentOutput, undefined>

const over: Taken = { done: true, value: undefined }

export function createOutputQueue(onAbandoned: () => void): OutputQueue {
  const waiting: Waiting[] = []
  let reader: ((taken: Taken) => void) | undefined
  let lastProcessed: (() => void) | undefined
  let ended = false

  const take = (next: Waiting): Taken => {
    lastProcessed = next.processed
    return { done: false, value: next.output }
  }
  const end = () => {
    ended = true
    if (waiting.length === 0) reader?.(over)
  }

  const iterator: AsyncIterator<AgentOutput, undefined> = {
    async next() {
      lastProcessed?.()
      lastProcessed = undefined
      const next = waiting.shift()
      if (next) return take(next)
      if (ended) return over
      return new Promise((resolve) => {
        reader = resolve
      })
    },
    async return() {
      end()
      lastProcessed?.()
      for (const { processed } of waiting.splice(0)) processed()
      onAbandoned()
      return over
    },
  }

  return {
    outputs: { [Symbol.asyncIterator]: () => iterator },
    put(output) {
      if (ended) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      const next = { output, processed: resolve }
      if (!reader) waiting.push(next)
      else {
        const give = reader
        reader = undefined
        give(take(next))
      }
      return promise
    },
    end,
  }
}
