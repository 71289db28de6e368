import { observeElementOffset, type VirtualizerOptions } from '@tanstack/react-virtual'
import { type RefObject, useEffect, useState } from 'react'

/** A reader within this distance of the end, in pixels, counts as being at the end. */
const nearEnd = 80

/**
 * Keeps a reader at the end of the timeline when an element below or inside the timeline grows: a card, the
 * queue, a long prompt, the keyboard of a phone. Scrolling up stops this, and scrolling back to the end
 * resumes it.
 */
export type EndKeeper = {
  isStaying(): boolean
  /** Must be called whenever the rows may have become taller. */
  follow(): void
  /** Stops following the end. Must be called before another place is scrolled into view. */
  leave(): void
  comeBack(): void
  /**
   * Reports the scroll offset to the list. While the reader stays at the end, the offset is not reported as scrolling,
   * because the list renders differently while a reader scrolls.
   */
  observeElementOffset: VirtualizerOptions<HTMLDivElement, HTMLDivElement>['observeElementOffset']
}

export function useEndKeeper(scroller: RefObject<HTMLDivElement | null>): EndKeeper {
  const [keeper] = useState(() => createEndKeeper(scroller))
  useEffect(() => {
    if (!scroller.current) return
    const observer = new ResizeObserver(keeper.follow)
    observer.observe(scroller.current)
    // The rows are observed too: the list resizes them without rendering, sometimes after the last call of `follow`.
    const rows = scroller.current.querySelector('[role=feed]')
    if (rows) observer.observe(rows)
    return () => observer.disconnect()
  }, [scroller, keeper])
  return keeper
}

function createEndKeeper(scroller: RefObject<HTMLDivElement | null>): EndKeeper {
  let staying = !namesPlace()
  let top = 0
  let reported = 0
  let reportNow: (offset: number) => void = () => {}

  function look(element: HTMLElement): void {
    const wentUp = element.scrollTop < top - 1
    top = element.scrollTop
    if (fromEnd(element) <= nearEnd) staying = true
    else if (wentUp) staying = false
  }

  function follow(): void {
    const element = scroller.current
    if (!element || !staying || fromEnd(element) <= 1) return
    element.scrollTop = element.scrollHeight
    top = element.scrollTop
    // A larger jump is reported at once. The browser's scroll event arrives a frame later: early enough for
    // one line, but too late for many rows.
    if (top - reported > 120) reportNow(top)
  }

  return {
    isStaying: () => staying,
    follow,
    leave() {
      staying = false
    },
    comeBack() {
      staying = true
      follow()
    },
    observeElementOffset(instance, report) {
      const reportOffset = (offset: number, scrolling: boolean) => {
        reported = offset
        report(offset, scrolling)
      }
      reportNow = (offset) => reportOffset(offset, false)
      return observeElementOffset(instance, (offset, scrolling) => {
        if (instance.scrollElement) look(instance.scrollElement)
        reportOffset(offset, scrolling && !staying)
      })
    },
  }
}

function fromEnd(element: HTMLElement): number {
  return element.scrollHeight - element.clientHeight - element.scrollTop
}

/** Whether the address names a block of the session. */
function namesPlace(): boolean {
  return /^#e\d/.test(location.hash)
}
