import { type Block, promptText } from '@parley/protocol'
import { useState } from 'react'
import { useSnapshot } from '../session-data/session-context.tsx'

/** Up and Down step through the prompts that were sent in this session. */
export function useRecall(write: (text: string) => void) {
  const timeline = useSnapshot((snapshot) => snapshot.view.timeline, samePrompts)
  const [place, setPlace] = useState(-1)
  const sent = () => {
    const prompts = timeline
      .filter((block) => block.type === 'prompt')
      .map((block) => promptText(block.parts))
    return [...new Set(prompts.reverse())]
  }
  const show = (next: number) => {
    const all = sent()
    if (next >= all.length) return place >= 0
    setPlace(next)
    write(next < 0 ? '' : (all[next] ?? ''))
    return true
  }
  return {
    active: place >= 0,
    older: () => show(place + 1),
    newer: () => show(place - 1),
    forget: () => setPlace(-1),
  }
}

/** Only prompts matter here: another block must not render the composer. */
function samePrompts(one: readonly Block[], other: readonly Block[]): boolean {
  if (one === other) return true
  const last = (blocks: readonly Block[]) => blocks.findLast((block) => block.type === 'prompt')
  return last(one) === last(other) && one[0] === other[0]
}
