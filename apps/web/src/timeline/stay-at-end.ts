import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'
import type { TimelineVirtualizer } from './timeline.tsx'

/** So near the end, in pixels, that the reader counts as being there. */
export const nearEnd = 80

/**
 * Whoever was at the end stays there, whatever takes room below or grows above: a card, a queue, a long prompt, the
 * keyboard of a phone. Only a reader who scrolls up leaves the end; scrolling back to it is coming back.
 */
export function useStayAtEnd(
  virtualizer: TimelineVirtualizer,
  scroller: RefObject<HTMLDivElement | null>,
): void {
  const staying = useRef(!/^#e\d/.test(location.hash))
  const size = virtualizer.getTotalSize()
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    let top = element.scrollTop
    const look = () => {
      const wentUp = element.scrollTop < top - 1
      top = element.scrollTop
      if (fromEnd(element) <= nearEnd) staying.current = true
      else if (wentUp) staying.current = false
    }
    const observer = new ResizeObserver(() => {
      if (staying.current) virtualizer.scrollToEnd()
      top = element.scrollTop
    })
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [virtualizer, scroller])
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the rows have become taller
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && staying.current && fromEnd(element) > 1) virtualizer.scrollToEnd()
  }, [size, virtualizer, scroller])
}

function fromEnd(element: HTMLElement): number {
  return element.scrollHeight - element.clientHeight - element.scrollTop
}
