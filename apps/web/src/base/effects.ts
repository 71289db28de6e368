import { useEffect, useEffectEvent } from 'react'

/** Listens to an event of the window while the component is mounted. */
export function useWindowEvent<Type extends keyof WindowEventMap>(
  type: Type,
  listener: (event: WindowEventMap[Type]) => void,
): void {
  const onEvent = useEffectEvent(listener)
  useEffect(() => {
    addEventListener(type, onEvent)
    return () => removeEventListener(type, onEvent)
  }, [type])
}

/** Starts work with a signal. Returns the function that aborts it, for an effect to return. */
export function abortable(work: (signal: AbortSignal) => unknown): () => void {
  const controller = new AbortController()
  work(controller.signal)
  return () => controller.abort()
}
