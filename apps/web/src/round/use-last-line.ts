import type { Attempt, Block } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { lastLine } from './round.logic.ts'

const maxBlocks = 100

/** The last line of the agent's answer, read when a turn has ended. */
export function useLastLine({ sessionId, turns }: Attempt): string | undefined {
  const [line, setLine] = useState<string>()
  useEffect(() => {
    if (turns === 0) return undefined
    return abortable((signal) =>
      client.call('getSession', { params: { id: sessionId }, query: { tail: maxBlocks }, signal }).then(
        ({ blocks }) => setLine(lastLine(lastAnswer(blocks))),
        // If the line cannot be read, the column is shown without it.
        () => undefined,
      ),
    )
  }, [sessionId, turns])
  return line
}

function lastAnswer(blocks: readonly Block[]): string | undefined {
  const last = blocks.findLast((block) => block.type === 'text' && block.parentToolCallId === undefined)
  return last?.type === 'text' ? last.text : undefined
}
