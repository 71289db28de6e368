import type { OpenBlock, OpenToolCall } from '@parley/protocol'
import { useSessionState } from '../session-data/session-context.tsx'
import { sameBlocksOpen } from './rows.logic.ts'

/** The open blocks as they were when they started. Later deltas do not render the component again. */
export function useOpenBlocks(): readonly OpenBlock[] {
  return useSessionState((state) => state.openBlocks, sameBlocksOpen)
}

export function useOpenBlock(id: string | undefined): OpenBlock | undefined {
  return useSessionState((state) =>
    id === undefined ? undefined : state.openBlocks.find((block) => block.id === id),
  )
}

export function useOpenCall(id: string): OpenToolCall | undefined {
  const block = useOpenBlock(id)
  return block?.type === 'tool-call' ? block : undefined
}
