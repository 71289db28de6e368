import { X } from 'lucide-react'
import { IconButton } from '../parts/button.tsx'
import { problemWords } from './problem-words.logic.ts'
import { createStore, useStore } from './store.ts'

export type Toast = {
  readonly id: number
  readonly text: string
  readonly tone: 'plain' | 'bad'
  readonly action?: { readonly label: string; readonly run: () => void }
}

const toasts = createStore<readonly Toast[]>([])
let nextId = 1

/** Says something that passes by. What must not be missed belongs in the page, not here. */
export function toast(
  text: string,
  options: { tone?: Toast['tone']; action?: Toast['action']; ms?: number } = {},
): () => void {
  const { tone = 'plain', action, ms = 6000 } = options
  const id = nextId++
  toasts.set((shown) => [...shown.slice(-3), { id, text, tone, ...(action && { action }) }])
  const dismiss = () => toasts.set((shown) => shown.filter((one) => one.id !== id))
  setTimeout(dismiss, ms)
  return dismiss
}

/** What a command was refused with. */
export function toastError(thrown: unknown): void {
  toast(problemWords(thrown), { tone: 'bad', ms: 9000 })
}

export function Toasts() {
  const shown = useStore(toasts)
  return (
    <div
      className="pointer-events-none fixed inset-x-3 bottom-4 z-50 flex flex-col items-center gap-2"
      role="status"
    >
      {shown.map((one) => (
        <div
          key={one.id}
          className={`pointer-events-auto flex max-w-xl items-center gap-3 rounded-lg border bg-card py-1 pr-1 pl-3.5 text-sm shadow-xl ${one.tone === 'bad' ? 'border-bad text-bad' : 'border-edge'}`}
        >
          <span className="py-1.5 [overflow-wrap:anywhere]">{one.text}</span>
          {one.action && (
            <button
              type="button"
              className="min-h-8 rounded-md px-2 font-semibold text-mark hover:bg-hover pointer-coarse:min-h-11"
              onClick={() => {
                one.action?.run()
                toasts.set((rest) => rest.filter(({ id }) => id !== one.id))
              }}
            >
              {one.action.label}
            </button>
          )}
          <IconButton
            label="Dismiss"
            onClick={() => toasts.set((rest) => rest.filter(({ id }) => id !== one.id))}
          >
            <X size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  )
}
