import { type RefObject, useEffect } from 'react'
import { findText } from '../base/find-text.ts'
import type { Hit } from './find.logic.ts'
import { turnHeight } from './rows.logic.ts'

const maxMarked = 2000
/** The maximum number of frames that a row may take to be rendered and to reach its final position. */
const maxFrames = 300

/** Highlights the matches on screen without changing elements. */
export function useMarks(wanted: string, now: Hit | undefined): void {
  useEffect(() => {
    findText.set(wanted)
    return () => findText.set('')
  }, [wanted])
  useEffect(() => {
    if (!('highlights' in CSS)) return
    const paint = () => {
      const rows = wanted === '' ? [] : [...document.querySelectorAll<HTMLElement>('[role=feed] > article')]
      const here = now && rangeOf(now, wanted)
      const others = rows.flatMap((row) => rangesIn(row, wanted)).slice(0, maxMarked)
      CSS.highlights.set('find', new Highlight(...others))
      CSS.highlights.set('find-now', here ? new Highlight(here) : new Highlight())
    }
    paint()
    const timer = setInterval(paint, 300)
    return () => {
      clearInterval(timer)
      CSS.highlights.delete('find')
      CSS.highlights.delete('find-now')
    }
  }, [wanted, now])
}

/** Scrolls a match into view: renders its row if necessary, then scrolls every scroll area around the match. */
export function useSeek(
  hit: Hit | undefined,
  wanted: string,
  { showRow, scroller }: { showRow: (key: string) => void; scroller: RefObject<HTMLElement | null> },
): void {
  const [key, nth, inResult = false] = [hit?.key, hit?.nth, hit?.inResult]
  useEffect(() => {
    if (key === undefined || nth === undefined) return
    let frames = 0
    let settled = 0
    let frame = requestAnimationFrame(function seek() {
      const range = rangeOf({ key, nth, inResult }, wanted)
      if (!range) {
        if (!rowOf(key)) showRow(key)
        settled = 0
      } else settled = scrollIntoSight(range, scroller.current) ? settled + 1 : 0
      if (settled < 5 && frames++ < maxFrames) frame = requestAnimationFrame(seek)
    })
    return () => cancelAnimationFrame(frame)
  }, [key, nth, inResult, wanted, showRow, scroller])
}

function rowOf(key: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[role=feed] > article[data-key="${CSS.escape(key)}"]`)
}

/**
 * The range of a match on screen. Formatting may hide some matches of the text; the last visible match then
 * represents the hidden matches.
 */
function rangeOf({ key, nth, inResult }: Hit, wanted: string): Range | undefined {
  const row = rowOf(key)
  if (!row) return undefined
  const result = inResult === true ? row.querySelector<HTMLElement>('[data-result]') : null
  const ranges = rangesIn(result ?? row, wanted)
  return ranges[Math.min(nth, ranges.length - 1)]
}

function rangesIn(row: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && ranges.length < maxMarked; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? ''
    if (text.length !== node.nodeValue?.length) continue
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      ranges.push(range)
    }
  }
  return ranges
}

/** Scrolls a range into view. Returns whether it was in view already. */
function scrollIntoSight(range: Range, outermost: HTMLElement | null): boolean {
  let wasThere = true
  for (let around = range.startContainer.parentElement; around; around = around.parentElement) {
    if (around.scrollHeight > around.clientHeight && /auto|scroll/.test(getComputedStyle(around).overflowY)) {
      const [box, words] = [around.getBoundingClientRect(), range.getBoundingClientRect()]
      const hidden = around === outermost ? turnHeight + 8 : 8
      if (words.top < box.top + hidden || words.bottom > box.bottom - 8) {
        around.scrollTop += words.top - box.top - box.height / 2
        wasThere = false
      }
    }
    if (around === outermost) break
  }
  return wasThere
}
