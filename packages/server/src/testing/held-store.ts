import type { AppendBatch, SessionStore } from '../core/session-store.ts'
import { createMemoryStore } from '../stores/memory.ts'

/**
 * A memory store whose writes wait for `release` after `hold`, or fail once after `failNext`. It records its writes.
 */
export function heldStore() {
  const disk = createMemoryStore()
  const appended: AppendBatch[] = []
  const checkpoints: string[][] = []
  const waiting: (() => void)[] = []
  let held = false
  let failure: Error | undefined
  const write = async () => {
    if (held) await new Promise<void>((resolve) => waiting.push(resolve))
    const error = failure
    failure = undefined
    if (error) throw error
  }
  const store: SessionStore = {
    ...disk,
    async append(batch) {
      await write()
      await disk.append(batch)
      appended.push(batch)
    },
    async checkpoint(sessionId, blocks) {
      await write()
      await disk.checkpoint(sessionId, blocks)
      checkpoints.push(
        blocks.map((block) => ('text' in block ? block.text : `${block.input}|${block.output}`)),
      )
    },
  }
  return {
    store,
    disk,
    appended,
    checkpoints,
    hold: () => {
      held = true
    },
    release: () => {
      held = false
      for (const go of waiting.splice(0)) go()
    },
    failNext: (error: Error) => {
      failure = error
    },
  }
}
