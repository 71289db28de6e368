import type { Block } from '@parley/protocol'
import { useSnapshot } from './session-context.tsx'

/** The kinds of calls that change no files. */
const reads: ReadonlySet<string> = new Set(['read', 'search', 'fetch', 'think'])

/** The last block whose end may mean that files have changed: a turn end, or an ended call that may write. */
export function useLastEnded(): Block | undefined {
  return useSnapshot((snapshot) =>
    snapshot.view.timeline.findLast(
      (block) =>
        block.type === 'turn-end' ||
        (block.type === 'tool-call' && block.status !== 'running' && !reads.has(block.kind)),
    ),
  )
}
