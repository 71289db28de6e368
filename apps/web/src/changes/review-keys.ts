import type { KeyboardEvent } from 'react'
import { isEditable } from '../base/focus.ts'
import { preferences } from '../base/preferences.ts'

/**
 * The parts of the panel that keys can focus. A file is a section with `data-path`, a hunk a row with
 * `data-hunk`.
 */
const filesIn = (panel: Element) => [...panel.querySelectorAll<HTMLElement>('section[data-path]')]
const hunksIn = (file: Element | undefined) => [
  ...(file?.querySelectorAll<HTMLElement>('tr[data-hunk]') ?? []),
]
const headingOf = (file: Element | undefined) => file?.querySelector<HTMLElement>('h3 button')

/** Calls `action` with the path of the file that contains the focus, or that had it last. */
function withPath(panel: Element, action: (path: string) => void): void {
  const path = fileWithFocus(panel)?.dataset.path
  if (path !== undefined) action(path)
}

function fileWithFocus(panel: Element): HTMLElement | undefined {
  const found = document.activeElement?.closest<HTMLElement>('section[data-path]')
  if (found && panel.contains(found)) return found
  const last = panel.getAttribute('data-last')
  return filesIn(panel).find(({ dataset }) => dataset.path === last)
}

export function showFile(panel: Element, file: HTMLElement | undefined): void {
  if (!file) return
  panel.setAttribute('data-last', file.dataset.path ?? '')
  file.scrollIntoView({ block: 'start' })
  headingOf(file)?.focus({ preventScroll: true })
}

export function showPath(panel: Element, path: string): void {
  showFile(
    panel,
    filesIn(panel).find(({ dataset }) => dataset.path === path),
  )
}

function moveFile(panel: Element, by: number): void {
  const files = filesIn(panel)
  const now = fileWithFocus(panel)
  const at = now ? files.indexOf(now) + by : 0
  showFile(panel, files[Math.max(0, Math.min(files.length - 1, at))])
}

function moveHunk(panel: Element, by: 1 | -1): void {
  const files = filesIn(panel)
  const file = fileWithFocus(panel) ?? files[0]
  if (!file) return
  const focused = file.contains(document.activeElement) ? document.activeElement : null
  const hunks = hunksIn(file)
  const isPast = (hunk: Element) => {
    if (!focused) return by > 0
    const order = focused.compareDocumentPosition(hunk)
    return (order & (by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING)) !== 0
  }
  const next = by > 0 ? hunks.find(isPast) : hunks.findLast(isPast)
  if (next) return showRow(panel, next)
  const neighbour = files[files.indexOf(file) + by]
  const row = by > 0 ? hunksIn(neighbour)[0] : hunksIn(neighbour).at(-1)
  if (row) showRow(panel, row)
  // The hunks of a collapsed file, and of a file that was never near the visible part, are not rendered.
  else showFile(panel, neighbour)
}

function showRow(panel: Element, row: HTMLElement): void {
  panel.setAttribute('data-last', row.closest<HTMLElement>('section[data-path]')?.dataset.path ?? '')
  row.focus({ preventScroll: true })
  row.scrollIntoView({ block: 'nearest' })
}

/**
 * Opens the remark form on the chosen lines or on the focused line, otherwise on the first change of the
 * file.
 */
function remark(panel: Element): void {
  const file = fileWithFocus(panel)
  const focused = document.activeElement?.closest<HTMLElement>('tr[data-at]')
  const row = focused && file?.contains(focused) ? focused : hunksIn(file)[0]
  row?.focus({ preventScroll: true })
  row?.querySelector<HTMLElement>(`td[data-at="${row.dataset.at}"] button`)?.click()
}

/** Clicks the button of the hunk that contains the focus. False if there is none. */
function pressInHunk(panel: Element, action: string): boolean {
  const row = document.activeElement?.closest<HTMLElement>('tr[data-at]')
  if (!row || !panel.contains(row)) return false
  const [hunk] = row.dataset.at?.split(':') ?? []
  const bar = row.closest('tbody')?.querySelector(`tr[data-bar="${hunk}"]`)
  const button = bar?.querySelector<HTMLElement>(`button[data-action=${action}]`)
  if (!button) return false
  headingOf(row.closest('section') ?? undefined)?.focus({ preventScroll: true })
  button.click()
  return true
}

export type ReviewActions = {
  /** Marks a file as viewed, or removes the mark. */
  readonly onViewed: (path: string) => void
  readonly onDiscard: (path: string) => void
  readonly onStage: (path: string) => void
}

const moves: ReadonlySet<string> = new Set(['j', 'n', 'k', 'p', '[', ']'])

/** Handles the keys of the panel, which work outside its fields. */
export function handleReviewKey(
  event: KeyboardEvent<HTMLElement>,
  { onViewed, onDiscard, onStage }: ReviewActions,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target)) return
  if (!preferences.get().singleKeys) return
  const panel = event.currentTarget
  const keys: Record<string, () => unknown> = {
    j: () => moveFile(panel, 1),
    n: () => moveFile(panel, 1),
    k: () => moveFile(panel, -1),
    p: () => moveFile(panel, -1),
    ']': () => moveHunk(panel, 1),
    '[': () => moveHunk(panel, -1),
    c: () => remark(panel),
    v: () => withPath(panel, onViewed),
    s: () => pressInHunk(panel, 'stage') || withPath(panel, onStage),
    x: () => pressInHunk(panel, 'discard') || withPath(panel, onDiscard),
  }
  const action = keys[event.key]
  // A held key repeats movements, but discards or marks only once.
  if (!action || (event.repeat && !moves.has(event.key))) return
  event.preventDefault()
  action()
}
