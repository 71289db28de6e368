import { type FocusEvent, type KeyboardEvent, useCallback, useLayoutEffect, useRef, useState } from 'react'
import { focusSearch, isEditable } from '../base/focus.ts'
import { neighbourOf } from './neighbour.logic.ts'

/** A group, a session, or a message that a search found. */
const itemSelector = '[role=treeitem],[data-hit]'

function focusItem(item: Element | undefined | null): void {
  const target = item?.matches('[data-hit]') ? item.querySelector('a') : item
  if (target instanceof HTMLElement) target.focus()
}

/** Down moves from the search field to the first item. */
export function toFirstItem(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown') return
  const item = event.currentTarget.closest('nav')?.querySelector(itemSelector)
  if (!item) return
  event.preventDefault()
  focusItem(item)
}

/**
 * Makes one item the tab stop: the item that had the focus last, otherwise the open session, otherwise the
 * first item. Up and Down move between items. Right moves to the menu of an item. Left moves from the menu
 * back to the item, or from a session to its group.
 */
export function useRovingTabStop(here: string | undefined) {
  const tree = useRef<HTMLDivElement>(null)
  const [last, setLast] = useState<string>()
  const [stop, setStop] = useState<string>()
  const keyOf = (item: Element | null | undefined) =>
    item instanceof HTMLElement ? (item.dataset.session ?? item.dataset.item) : undefined
  // Runs after each render, because a group may have been folded or the item removed.
  useLayoutEffect(() => {
    const items = [...(tree.current?.querySelectorAll('[role=treeitem]') ?? [])]
    const keys = items.map(keyOf)
    setStop([last, here].find((key) => key !== undefined && keys.includes(key)) ?? keys[0])
  })
  const onFocus = ({ target }: FocusEvent) => setLast(keyOf(target.closest('[role=treeitem]')))
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const target = event.target as HTMLElement
    const item = target.closest(itemSelector)
    if (!item || isEditable(target) || target.closest('[role=menu]')) return
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const items = [...event.currentTarget.querySelectorAll(itemSelector)]
    const now = items.indexOf(item)
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 }[event.key]
    if (to !== undefined) focusItem(items[to])
    else if (event.key === 'ArrowRight') menuOf(item)?.focus()
    else if (event.key !== 'ArrowLeft') return
    else
      focusItem(
        target === item ? (item.closest('[data-group]')?.querySelector('[role=treeitem]') ?? item) : item,
      )
    event.preventDefault()
  }
  return { stop, ref: tree, onFocus, onKeyDown }
}

function menuOf(item: Element): HTMLElement | null {
  return item.querySelector<HTMLElement>(':scope > button')
}

/** Keeps the focus in the list when the focused row is deleted, archived or moved. */
export function useFocusInRows() {
  const lost = useRef<string>(undefined)
  const before = useRef<readonly string[]>([])
  const onFocusLost = useCallback((id: string) => {
    lost.current = id
  }, [])
  useLayoutEffect(() => {
    const rows = [...document.querySelectorAll<HTMLElement>('nav [data-session]')]
    const ids = rows.map((row) => row.dataset.session ?? '')
    if (lost.current !== undefined) {
      const next = neighbourOf(lost.current, before.current, ids)
      lost.current = undefined
      // Runs after the main area has rendered: the page that replaces a deleted session focuses the prompt field.
      setTimeout(() => {
        const row = next && document.querySelector<HTMLElement>(`nav [data-session="${CSS.escape(next)}"]`)
        if (row) row.focus()
        else focusSearch()
      })
    }
    before.current = ids
  })
  return onFocusLost
}
