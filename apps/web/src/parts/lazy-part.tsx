import { type ReactNode, useEffect } from 'react'
import { client } from '../base/client.ts'
import { createStore, type Store, useStore } from '../base/store.ts'
import { Button } from './button.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { Problem } from './problem.tsx'

/** A part of the page whose code is fetched when it is first shown. */
export type LazyPart<Shown> = {
  readonly loaded: Store<{ readonly shown?: Shown; readonly error?: Error }>
  fetch(): void
}

/**
 * Creates a lazy part. Unlike React's `lazy`, it can retry after a failure. Browsers cache a failed import by
 * its address, so a retry uses another address.
 */
export function lazyPart<Shown>(load: () => Promise<{ readonly default: Shown }>): LazyPart<Shown> {
  const loaded: LazyPart<Shown>['loaded'] = createStore({})
  let fetching = false
  let again: (() => ReturnType<typeof load>) | undefined
  return {
    loaded,
    fetch() {
      if (fetching || loaded.get().shown) return
      fetching = true
      loaded.set({})
      ;(again ?? load)()
        .then(
          (module) => loaded.set({ shown: module.default }),
          (error: Error) => {
            again = retryWithNewAddress(error)
            loaded.set({ error })
          },
        )
        .finally(() => {
          fetching = false
        })
    },
  }
}

/**
 * Returns a function that imports the chunk from another address. Only the build and the browser know the address
 * of a chunk, so it is read from the browser's error message. Returns undefined if the message has no address.
 */
function retryWithNewAddress<Module>({ message }: Error): (() => Promise<Module>) | undefined {
  const address = /https?:\/\/[^\s?]+\.js/.exec(message)?.[0]
  if (!address?.startsWith(`${location.origin}/`)) return undefined
  return () => import(/* @vite-ignore */ `${address}?again=${Date.now()}`)
}

type LazyProps<Shown> = {
  part: LazyPart<Shown>
  waiting?: ReactNode
  /** Wraps the error that is shown in place of the part. */
  frame?: (error: ReactNode) => ReactNode
  children: (shown: Shown) => ReactNode
}

/**
 * Shows a lazy part. If its code cannot be loaded or it throws, an error with a retry button is shown in its place, and
 * the rest of the page keeps working.
 */
export function Lazy<Shown>({ part, waiting, frame = (error) => error, children }: LazyProps<Shown>) {
  const { loaded, fetch } = part
  const { shown, error } = useStore(loaded)
  useEffect(() => {
    fetch()
    return client.socket.onStatus(({ state }) => state === 'open' && fetch())
  }, [fetch])
  if (error) {
    const text = 'The server does not answer, or was updated. Your text is kept.'
    return frame(<PartProblem title="This part could not be loaded" text={text} onRetry={fetch} />)
  }
  if (!shown) return waiting ?? null
  const fallback = ({ message }: Error, retry: () => void) =>
    frame(<PartProblem title="This part of the page crashed" text={message} onRetry={retry} />)
  return <ErrorBoundary fallback={fallback}>{children(shown)}</ErrorBoundary>
}

function PartProblem({ title, text, onRetry }: { title: string; text: string; onRetry: () => void }) {
  return (
    <Problem title={title} text={text}>
      <div className="flex flex-wrap gap-2 pt-4">
        <Button look="primary" onClick={onRetry}>
          Try again
        </Button>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    </Problem>
  )
}
