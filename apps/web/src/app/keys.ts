import { focusPrompt, isEditable, wasTyping } from '../base/focus.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { currentRoute, navigate } from '../base/route.ts'
import { may } from '../base/self.ts'
import type { Action } from '../base/shortcuts.logic.ts'
import { pressedAction } from '../base/shortcuts.ts'
import { pageDialog } from '../parts/dialog.tsx'
import { handleCardKey, noteUnusedKey } from '../request/card-keys.ts'
import { sessions } from '../session-data/session-list.ts'
import { toggleSidebar } from '../sessions/collapse.ts'

/**
 * Handles a key press on the page. A shortcut with a modifier works everywhere, a single key only outside editable
 * fields.
 */
export function handlePageKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const action = pressedAction(event)
  const run = action && actions[action]
  const hasOverlay = document.querySelector('dialog[open], [popover]:popover-open') !== null
  if (hasModifier(event)) {
    if (!run || (hasOverlay && action !== 'palette')) return
    event.preventDefault()
    return void run()
  }
  if (isEditable(event.target) || hasOverlay) return
  if (wasTyping()) return noteUnusedKey(event)
  if (mayAnswer(event) && handleCardKey(event)) return event.preventDefault()
  if (!run || (isInPanel(event.target) && !fromPanels.has(action))) return noteUnusedKey(event)
  event.preventDefault()
  run()
}

/** AltGr is not a modifier here: it types a character. */
function hasModifier(event: KeyboardEvent): boolean {
  if (event.getModifierState('AltGraph')) return false
  return event.ctrlKey || event.metaKey || event.altKey
}

/** If single keys are switched off, a digit answers only the card that has the focus. */
function mayAnswer({ key, target }: KeyboardEvent): boolean {
  if (key === 'Enter' || preferences.get().singleKeys) return true
  return target instanceof Element && target.closest('[data-testid=request]') !== null
}

/** The actions whose single keys work in side panels too. */
const fromPanels: ReadonlySet<Action> = new Set(['prompt', 'keys'])

/**
 * True if the focus is in a side panel. In a panel, a digit still answers a card, but a letter is not a
 * shortcut of the page.
 */
function isInPanel(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('aside') !== null
}

/** The effect of each action. The session page handles `find`. */
const actions: { readonly [Name in Action]?: () => unknown } = {
  palette: () => pageDialog.set('palette'),
  new: () => may('prompt') && navigate({ name: 'new' }),
  inbox: () => navigate({ name: 'inbox' }),
  keys: () => pageDialog.set('keys'),
  previous: () => step(-1),
  next: () => step(1),
  prompt: focusPrompt,
  rowBelow: () => moveRow(1),
  rowAbove: () => moveRow(-1),
  latest: () => toEnd(),
  sidebar: toggleSidebar,
  review: showChanges,
}

/** Opens the changes of the session, and moves the focus to the first changed file. */
function showChanges(): void {
  if (currentRoute().name !== 'session') return
  if (preferences.get().sidePanel !== 'changes') return setPreferences({ sidePanel: 'changes' })
  document.querySelector<HTMLElement>('aside[data-panel=changes] section h3 button')?.focus()
}

/** Opens the session that is `by` places below the open session in the list (above it if negative). */
function step(by: number): void {
  const ids = idsInList()
  const route = currentRoute()
  const now = route.name === 'session' ? ids.indexOf(route.id) : -1
  const id = ids[Math.max(0, Math.min(ids.length - 1, now + by))]
  if (id !== undefined) navigate({ name: 'session', id })
}

/**
 * The sessions in the order in which the list shows them; while the list is collapsed, the last changed
 * session comes first.
 */
function idsInList(): readonly string[] {
  const rows = [...document.querySelectorAll<HTMLElement>('nav [data-session]')]
  if (rows.length > 0) return rows.map((row) => row.dataset.session ?? '')
  return sessions.getSnapshot().sessions.map(({ id }) => id)
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
