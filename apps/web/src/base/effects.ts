import { useEffectEvent, useLayoutEffect, useSyncExternalStore } from 'react'

/**
 * Listens to an event of the window while the component is mounted. The listener is added before the browser paints:
 * a person may press a key as soon as the page is shown.
 */
export function useWindowEvent<Type extends keyof WindowEventMap>(
  type: Type,
  listener: (event: WindowEventMap[Type]) => void,
): void {
  const onEvent = useEffectEvent(listener)
  useLayoutEffect(() => {
    addEventListener(type, onEvent)
    return () => removeEventListener(type, onEvent)
  }, [type])
}

/**
 * Starts work with an abort signal. Returns the function that aborts the work, as the cleanup of an effect.
 */
export function abortable(work: (signal: AbortSignal) => unknown): () => void {
  const controller = new AbortController()
  work(controller.signal)
  return () => controller.abort()
}

const narrow = matchMedia('(width < 48rem)')

/** Whether the screen is as narrow as that of a phone, where the session list is a page of its own. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener)
      return () => narrow.removeEventListener('change', listener)
    },
    () => narrow.matches,
  )
}

export function usePageVisible(): boolean {
  return useSyncExternalStore(
    (listener) => {
      document.addEventListener('visibilitychange', listener)
      return () => document.removeEventListener('visibilitychange', listener)
    },
    () => !document.hidden,
  )
}
