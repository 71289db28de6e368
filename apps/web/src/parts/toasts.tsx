import { X } from 'lucide-react'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { client, onAccepted } from '../base/client.ts'
import { errorText, isUnreachable } from '../base/error-text.logic.ts'
import { useRoute } from '../base/route.ts'
import { createStore, useStore } from '../base/store.ts'
import { IconButton } from './button.tsx'

type Toast = {
  readonly id: number
  readonly at: number
  /** The time for which the toast is shown. Infinity: until the person dismisses the toast. */
  readonly ms: number
  /**
   * The time also passes while the person points at the toast or focuses it, because the action of the toast
   * expires.
   */
  readonly exact: boolean
  /** The toast reports that the server is unreachable. */
  readonly unreachable: boolean
  readonly text: string
  readonly tone: 'plain' | 'bad'
  readonly action?: { readonly label: string; readonly run: () => void }
}

const toasts = createStore<readonly Toast[]>([])
let nextId = 1
/** The minimum time for which an error is shown, even if the server accepts the next command. */
const minDisplayMs = 1500

/**
 * Dismisses errors that are outdated because the server is back or has accepted a command, or because the person has
 * left the page.
 */
function forgetErrors({ shownFor = 0, unreachable = false } = {}): void {
  for (const { id, tone, at, ...one } of toasts.get()) {
    if (tone !== 'bad' || (unreachable && !one.unreachable)) continue
    const left = at + shownFor - performance.now()
    if (left > 0) setTimeout(() => dismiss(id), left)
    else dismiss(id)
  }
}
client.socket.onStatus(({ state }) => state === 'open' && forgetErrors({ unreachable: true }))
onAccepted(() => forgetErrors({ shownFor: minDisplayMs }))

/** Shows a short message. Information that must not be missed belongs in the page instead. */
export function toast(
  text: string,
  options: {
    tone?: Toast['tone']
    action?: Toast['action']
    /** If Infinity, the toast is shown until the person dismisses it. */
    ms?: number
    exact?: boolean
    unreachable?: boolean
  } = {},
): () => void {
  const { tone = 'plain', action, ms = 6000, exact = false, unreachable = false } = options
  const id = nextId++
  const made = { id, text, tone, at: performance.now(), ms, exact, unreachable, ...(action && { action }) }
  toasts.set((shown) => [
    ...shown.filter(stays),
    ...shown.filter((one) => !stays(one) && one.text !== text).slice(-3),
    made,
  ])
  return () => dismiss(id)
}

const stays = ({ ms }: Toast) => ms === Number.POSITIVE_INFINITY

function dismiss(id: number): void {
  toasts.set((shown) => shown.filter((one) => one.id !== id))
}

/** Long enough to read an error twice. */
const errorMs = 9000

export function toastError(thrown: unknown): void {
  toast(errorText(thrown), { tone: 'bad', ms: errorMs, unreachable: isUnreachable(thrown) })
}

/** The open dialogs, the topmost one last. */
const dialogs = createStore<readonly string[]>([])

/**
 * Toasts are shown over the page, below its header and beside an open panel, so that nothing shifts when a toast appears or
 * disappears. In a session they leave room for the lines above the conversation. They are far from the composer and the cards, and clicks between them reach the page.
 */
export function Toasts() {
  const isCovered = useStore(dialogs, (open) => open.length > 0)
  const route = useRoute()
  // biome-ignore lint/correctness/useExhaustiveDependencies: errors are dismissed on every navigation
  useEffect(() => forgetErrors(), [route])
  return (
    <ToastList
      isCovered={isCovered}
      className={`md:right-[var(--beside-panel,0px)] md:left-72 md:max-lg:group-has-[[data-panel]]/page:left-0 ${route.name === 'session' ? 'md:top-30' : ''}`}
    />
  )
}

/**
 * The toasts while a modal dialog is open, because the page behind it can be neither used nor read. Each
 * dialog contains this component as its last part.
 */
export function DialogToasts() {
  const id = useId()
  const isCovered = useStore(dialogs, (open) => open.at(-1) !== id)
  useLayoutEffect(() => {
    dialogs.set((open) => [...open, id])
    return () => dialogs.set((open) => open.filter((one) => one !== id))
  }, [id])
  return <ToastList isCovered={isCovered} />
}

function ToastList({ isCovered, className = '' }: { isCovered: boolean; className?: string }) {
  const shown = useStore(toasts)
  const [isHeld, setHeld] = useState(false)
  return (
    <div
      role="status"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className={`pointer-events-none fixed inset-x-0 top-14 z-50 flex flex-col items-center gap-1.5 px-3 ${className}`}
    >
      {(isCovered ? [] : shown).map((one) => (
        <ToastBox key={one.id} toast={one} isHeld={isHeld} />
      ))}
    </div>
  )
}

function ToastBox({ toast: shown, isHeld }: { toast: Toast; isHeld: boolean }) {
  const { id, text, tone, action, exact } = shown
  useTimeout(
    () => dismiss(id),
    () => timeLeft(shown),
    isHeld && !exact,
  )
  return (
    <div
      className={`pointer-events-auto flex max-w-xl items-center gap-3 rounded-lg border bg-card py-1 pr-1 pl-3.5 text-sm shadow-md ${tone === 'bad' ? 'border-bad text-bad' : 'border-edge'}`}
    >
      <span className="py-1.5 [overflow-wrap:anywhere]">{text}</span>
      {action && (
        <button
          type="button"
          className="min-h-8 rounded-md px-2 font-semibold text-mark hover:bg-hover pointer-coarse:min-h-11"
          onClick={() => {
            action.run()
            dismiss(id)
          }}
        >
          {action.label}
        </button>
      )}
      <IconButton label="Dismiss" onClick={() => dismiss(id)}>
        <X size={14} />
      </IconButton>
    </div>
  )
}

/** The minimum time for which a toast is shown after the pointer and the focus have left it. */
const leastMs = 2000

/** The remaining time of a toast, which may have been shown elsewhere before a dialog was opened or closed. */
function timeLeft({ at, ms, exact }: Toast): number {
  return Math.max(exact ? 0 : leastMs, at + ms - performance.now())
}

/** Calls `end` after this time. The time does not pass while `isHeld` is true. */
function useTimeout(end: () => void, ms: () => number, isHeld: boolean): void {
  const [first] = useState(ms)
  const left = useRef(first)
  const latest = useRef(end)
  latest.current = end
  useEffect(() => {
    if (isHeld || left.current === Number.POSITIVE_INFINITY) return
    const from = performance.now()
    const timer = setTimeout(() => latest.current(), left.current)
    return () => {
      clearTimeout(timer)
      left.current = Math.max(leastMs, left.current - (performance.now() - from))
    }
  }, [isHeld])
}
