import { observeElementOffset, type VirtualizerOptions } from '@tanstack/react-virtual'
import { type RefObject, useEffect, useLayoutEffect, useState } from 'react'

/** So near the end, in pixels, that the reader counts as being there. */
const nearEnd = 80

/**
 * Whoever was at the end stays there, whatever takes room below or grows above: a card, a queue, a long prompt, the
 * keyboard of a phone. Only a reader who scrolls up leaves the end; scrolling back to it is coming back.
 */
export type EndKeeper = {
  isStaying(): boolean
  /** To be called whenever the rows may have become taller. */
  follow(): void
  /** For who brings another place on screen. */
  leave(): void
  comeBack(): void
  /** To follow what comes is not scrolling: rows need not be drawn otherwise for it. */
  observeElementOffset: VirtualizerOptions<HTMLDivElement, HTMLDivElement>['observeElementOffset']
}

export function useEndKeeper(scroller: RefObject<HTMLDivElement | null>): EndKeeper {
  const [keeper] = useState(() => createEndKeeper(scroller))
  useEffect(() => {
    if (!scroller.current) return
    const observer = new ResizeObserver(keeper.follow)
    observer.observe(scroller.current)
    // The list makes its rows taller without rendering them, sometimes after it has told of it.
    const rows = scroller.current.firstElementChild
    if (rows) observer.observe(rows)
    return () => observer.disconnect()
  }, [scroller, keeper])
  return keeper
}

/** Follows after every rendering that changed how tall the rows are together. */
export function useFollow({ follow }: EndKeeper, size: number): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the rows have become taller
  useLayoutEffect(follow, [size, follow])
}

function createEndKeeper(scroller: RefObject<HTMLDivElement | null>): EndKeeper {
  let staying = !namesPlace()
  let top = 0
  let told = 0
  let tellNow: (offset: number) => void = () => {}

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
    // The browser tells of it a frame later: soon enough for a line, not for the rows that come with a leap.
    if (top - told > 120) tellNow(top)
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
    observeElementOffset(instance, tell) {
      const tellOf = (offset: number, scrolling: boolean) => {
        told = offset
        tell(offset, scrolling)
      }
      tellNow = (offset) => tellOf(offset, false)
      return observeElementOffset(instance, (offset, scrolling) => {
        if (instance.scrollElement) look(instance.scrollElement)
        tellOf(offset, scrolling && !staying)
      })
    },
  }
}

function fromEnd(element: HTMLElement): number {
  return element.scrollHeight - element.clientHeight - element.scrollTop
}

/** Whether the address names a place in the session other than its end. */
function namesPlace(): boolean {
  return /^#e\d/.test(location.hash)
}
