import type { Block } from '@parley/protocol'
import { useSnapshot } from './session-context.tsx'

/** The last block whose end may mean that files have changed: a turn end or an ended tool call. */
export function useLastEnded(): Block | undefined {
  return useSnapshot((snapshot) =>
    snapshot.view.timeline.findLast(
      (block) => block.type === 'turn-end' || (block.type === 'tool-call' && block.status !== 'running'),
    ),
  )
}
