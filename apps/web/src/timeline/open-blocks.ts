import type { OpenBlock, OpenToolCall } from '@parley/protocol'
import { useStatePart } from '../session/session-context.tsx'
import { sameBlocksOpen } from './rows.logic.ts'

/** The blocks that are being written, as they were when they began: what is added to them changes nothing here. */
export function useOpenBlocks(): readonly OpenBlock[] {
  return useStatePart((state) => state.openBlocks, sameBlocksOpen)
}

export function useOpenBlock(id: string | undefined): OpenBlock | undefined {
  return useStatePart((state) =>
    id === undefined ? undefined : state.openBlocks.find((block) => block.id === id),
  )
}

/** A call that runs, with its output so far. */
export function useOpenCall(id: string): OpenToolCall | undefined {
  const block = useOpenBlock(id)
  return block?.type === 'tool-call' ? block : undefined
}
