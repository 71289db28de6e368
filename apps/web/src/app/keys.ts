import { focusPrompt, isEditable, wasTyping } from '../base/focus.ts'
import { currentRoute, navigate } from '../base/route.ts'
import { may } from '../base/self.ts'
import { pageDialog } from '../parts/dialog.tsx'
import { handleCardKey, noteUnusedKey } from '../request/card-keys.ts'
import { sessions } from '../session-data/session-list.ts'

/**
 * Handles a key press on the page. A shortcut with a modifier works everywhere, other keys only outside editable
 * fields.
 */
export function handlePageKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const command = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
  if (command && event.key.toLowerCase() === 'k') {
    event.preventDefault()
    return pageDialog.set('palette')
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target)) return
  if (document.querySelector('dialog[open], [popover]:popover-open')) return
  if (wasTyping()) return noteUnusedKey(event)
  if (handleCardKey(event)) return event.preventDefault()
  const action = isInPanel(event.target) ? undefined : plain[event.key]
  if (!action) return noteUnusedKey(event)
  event.preventDefault()
  action()
}

/**
 * True if the focus is in a side panel. There a digit still answers a card, but a letter is not a shortcut of
 * the page.
 */
function isInPanel(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('aside') !== null
}

const plain: Record<string, () => unknown> = {
  n: () => may('prompt') && navigate({ name: 'new' }),
  i: () => navigate({ name: 'inbox' }),
  '?': () => pageDialog.set('keys'),
  '[': () => step(-1),
  ']': () => step(1),
  '/': focusPrompt,
  j: () => moveRow(1),
  k: () => moveRow(-1),
  g: () => toEnd(),
}

/** Opens the session that is `by` places below the open session in the list (above it if negative). */
function step(by: number): void {
  const list = sessions.getSnapshot().sessions
  const route = currentRoute()
  const now = route.name === 'session' ? list.findIndex((session) => session.id === route.id) : -1
  const next = list[Math.max(0, Math.min(list.length - 1, now + by))]
  if (next) navigate({ name: 'session', id: next.id })
}

/** Moves the focus between the rows of the timeline: the articles in the element with the ARIA role `feed`. */
function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[role=feed] > article[data-index]')].toSorted(
    (one, other) => Number(one.dataset.index) - Number(other.dataset.index),
  )
  const now = rows.findIndex((row) => row.contains(document.activeElement))
  const to = now < 0 ? rows.at(by > 0 ? 0 : -1) : rows[now + by]
  to?.focus({ preventScroll: true })
  to?.scrollIntoView({ block: 'nearest' })
}

function toEnd(): void {
  const timeline = document.querySelector('[data-testid=timeline]')
  timeline?.scrollTo({ top: timeline.scrollHeight })
}
