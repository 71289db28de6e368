import { createStore, useStore } from '../base/store.ts'

const announcement = createStore('')

/** Announces a text to screen readers through one polite live region. The streamed text itself is not announced. */
export function announce(text: string): void {
  announcement.set('')
  setTimeout(() => announcement.set(text), 50)
}

export function Announcer() {
  return (
    <div aria-live="polite" className="sr-only" data-testid="announcer">
      {useStore(announcement)}
    </div>
  )
}
