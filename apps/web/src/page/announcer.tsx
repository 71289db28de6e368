import { createStore, useStore } from './store.ts'

const words = createStore('')

/** Tells people who listen to the page. One place, politely: the stream itself is not read out. */
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
