import { isEditable } from '../base/focus.ts'

/**
 * The cards that handle keys. To prevent accidental answers, only one card receives a key: the card that has the focus
 * or, for a digit, the first card. The card must be completely visible and have been shown for a moment, and the person
 * must not be typing.
 */
const cards = new Map<Element, (key: string) => boolean>()

/** After a change of the cards, keys are ignored for this time: they may have been meant for the previous card. */
const pauseMs = 500
/** For this time after a keystroke, the person is assumed to be still typing, even if the field has disappeared. */
const writingMs = 1500

let changedAt = Number.NEGATIVE_INFINITY
let wroteAt = Number.NEGATIVE_INFINITY
let movedAt = Number.NEGATIVE_INFINITY
let resumeTimer: ReturnType<typeof setTimeout> | undefined

/**
 * Registers a card for keys. `answer` returns true if it used the key. The returned function removes the
 * card.
 */
export function registerCard(card: Element, answer: (key: string) => boolean): () => void {
  cards.set(card, answer)
  pauseKeys()
  return () => {
    cards.delete(card)
    pauseKeys()
  }
}

/**
 * Ignores keys after a change of the cards. The pause starts at the next frame. A hidden page renders no frames, so
 * there it starts when the page is shown.
 */
function pauseKeys(): void {
  const { dataset } = document.documentElement
  changedAt = Number.POSITIVE_INFINITY
  dataset.cards = 'paused'
  clearTimeout(resumeTimer)
  requestAnimationFrame(() => {
    changedAt = performance.now()
    clearTimeout(resumeTimer)
    resumeTimer = setTimeout(() => delete dataset.cards, pauseMs)
  })
}

/** Passes a key to the card that it is meant for. Returns true if the card used the key. */
export function handleCardKey(event: KeyboardEvent): boolean {
  const digit = /^[1-9]$/.test(event.key)
  if (!digit && event.key !== 'Enter') return false
  // Enter on a link, button or summary inside the card activates that element and is not an answer.
  if (!digit && event.target instanceof Element && event.target.closest('a, button, summary')) return false
  const around = event.target instanceof Element ? event.target.closest('[data-testid=request]') : null
  const card = around ?? (digit ? document.querySelector('main [data-testid=request]') : null)
  const answer = card && cards.get(card)
  if (!answer || event.repeat || !isInView(card)) return false
  // Compares the time of the key press, not of its event handling: a busy page handles keys late.
  if (isTooSoon(event) || event.timeStamp < wroteAt + writingMs) return false
  return answer(event.key)
}

/** True if the press came so soon after a change of the cards that it may be meant for another card. */
function isTooSoon({ timeStamp }: { readonly timeStamp: number }): boolean {
  return timeStamp < changedAt + pauseMs
}

/**
 * True for a touch, or a click without pointer movement, so soon after a change of the cards that it may be meant for
 * the element that was there before.
 */
export function isAccidentalPress({ timeStamp, pointerType }: PointerEvent): boolean {
  return isTooSoon({ timeStamp }) && (pointerType === 'touch' || movedAt < changedAt)
}

/**
 * Called with a key that no card or shortcut used. A letter shows that the person is still typing although the field
 * has disappeared.
 */
export function noteUnusedKey({ key, timeStamp }: KeyboardEvent): void {
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

/** Whether the top and the bottom of the card are visible, neither scrolled away nor covered. */
function isInView(card: Element): boolean {
  const { left, width, top, bottom } = card.getBoundingClientRect()
  return [top + 8, bottom - 8].every((y) => {
    const shown = document.elementFromPoint(left + width / 2, y)
    return shown !== null && card.contains(shown)
  })
}
