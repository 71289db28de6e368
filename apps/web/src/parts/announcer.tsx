import { createStore, useStore } from '../base/store.ts'

const words = createStore('')

/** Announces a text to screen readers through one polite live region. The streamed text itself is not announced. */
export function announce(text: string): void {
  words.set('')
  setTimeout(() => words.set(text), 50)
}

export function Announcer() {
  return (
    <div aria-live="polite" className="sr-only" data-testid="announcer">
      {useStore(words)}
    </div>
  )
}
