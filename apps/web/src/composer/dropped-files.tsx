import { Paperclip } from 'lucide-react'
import { useEffect } from 'react'
import { createStore, useStore } from '../base/store.ts'

type Take = (files: File[]) => void

/** The function that receives files dropped anywhere on the page. */
let taker: Take | undefined
const hovering = createStore(false)

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false

// Prevents the default: the browser would open a dropped file in place of the page.
addEventListener('dragover', (event) => {
  if (!hasFiles(event)) return
  event.preventDefault()
  if (event.dataTransfer) event.dataTransfer.dropEffect = taker ? 'copy' : 'none'
  hovering.set(true)
})
addEventListener('drop', (event) => {
  if (!hasFiles(event)) return
  event.preventDefault()
  hovering.set(false)
  taker?.([...(event.dataTransfer?.files ?? [])])
})
addEventListener('dragleave', (event) => {
  if (event.relatedTarget === null) hovering.set(false)
})

/** Receives dropped files while it is mounted, and shows an overlay while files hover over the page. */
export function DroppedFiles({ onFiles }: { onFiles: Take }) {
  const shown = useStore(hovering)
  useEffect(() => {
    taker = onFiles
    return () => {
      if (taker === onFiles) taker = undefined
    }
  }, [onFiles])
  if (!shown) return null
  return (
    <div className="pointer-events-none fixed inset-2 z-40 flex items-center justify-center rounded-xl border-2 border-dashed border-mark bg-mark-wash/85 md:left-74">
      <p className="flex items-center gap-2 text-base font-semibold text-mark" data-testid="drop-here">
        <Paperclip size={18} aria-hidden /> Drop to attach to the prompt
      </p>
    </div>
  )
}
