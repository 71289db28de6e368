import { isEditable } from '../page/focus.ts'

/**
 * Which card a key answers. Nothing is answered by accident: a key goes to the card that has the focus, else to the
 * first one, and only if that card is whole in sight, has been there for a moment, and nobody is in the middle of a word.
 */
const cards = new Map<Element, (key: string) => boolean>()

/** Keys that were meant for the card before, or for something else, come this much later at most. */
const deafMs = 500
/** Who writes goes on writing, also where the field has just gone away. */
const writingMs = 1500

let changedAt = Number.NEGATIVE_INFINITY
let wroteAt = Number.NEGATIVE_INFINITY
let movedAt = Number.NEGATIVE_INFINITY
let hearing: ReturnType<typeof setTimeout> | undefined

/** `answer`: true if the key was used. */
export function takeKeys(card: Element, answer: (key: string) => boolean): () => void {
  cards.set(card, answer)
  hushKeys()
  return () => {
    cards.delete(card)
    hushKeys()
  }
}

/** What is first is another one now. It counts from when it can be seen: a page in the background draws nothing. */
function hushKeys(): void {
  const { dataset } = document.documentElement
  changedAt = Number.POSITIVE_INFINITY
  dataset.cards = 'deaf'
  requestAnimationFrame(() => {
    changedAt = performance.now()
    clearTimeout(hearing)
    hearing = setTimeout(() => delete dataset.cards, deafMs)
  })
}

/** True if a card has used the key. */
export function pressOnCard(event: KeyboardEvent): boolean {
  const digit = /^[1-9]$/.test(event.key)
  if (!digit && event.key !== 'Enter') return false
  // Enter on something that has its own use for it, e.g. a link in what is asked, is not an answer.
  if (!digit && event.target instanceof Element && event.target.closest('a, button, summary')) return false
  const around = event.target instanceof Element ? event.target.closest('[data-testid=request]') : null
  const card = around ?? (digit ? document.querySelector('main [data-testid=request]') : null)
  const answer = card && cards.get(card)
  if (!answer || event.repeat || !isInSight(card)) return false
  // The time of the press, not of its arrival: a busy page hands keys over late.
  if (isTooSoon(event) || event.timeStamp < wroteAt + writingMs) return false
  return answer(event.key)
}

/** So soon after a card came or went that whoever did it may have meant another. */
function isTooSoon({ timeStamp }: { readonly timeStamp: number }): boolean {
  return timeStamp < changedAt + deafMs
}

/** A finger or a resting pointer that comes down on a card which has only just come under it. */
export function isBlindPress({ timeStamp, pointerType }: PointerEvent): boolean {
  return isTooSoon({ timeStamp }) && (pointerType === 'touch' || movedAt < changedAt)
}

/** A letter that does nothing: somebody writes, and has not seen that there is no field. */
export function noteUnused({ key, timeStamp }: KeyboardEvent): void {
  if (key.length === 1 && !/^\d$/.test(key)) wroteAt = timeStamp
}

function noteWriting({ key, timeStamp, target }: KeyboardEvent): void {
  if (key.length > 1) stopWriting()
  else if (isEditable(target)) wroteAt = timeStamp
}

function stopWriting(): void {
  wroteAt = Number.NEGATIVE_INFINITY
}

addEventListener('keydown', noteWriting, { capture: true })
addEventListener('pointerdown', stopWriting, { capture: true })
addEventListener(
  'pointermove',
  ({ timeStamp }) => {
    movedAt = timeStamp
  },
  { capture: true, passive: true },
)

/** Both ends of it: what is asked, and the buttons. Neither scrolled away nor covered. */
function isInSight(card: Element): boolean {
  const { left, width, top, bottom } = card.getBoundingClientRect()
  return [top + 8, bottom - 8].every((y) => {
    const shown = document.elementFromPoint(left + width / 2, y)
    return shown !== null && card.contains(shown)
  })
}
