const longPressMs = 500
/** A finger that moves farther scrolls. */
const stillPixels = 10

/** Calls `act` if the finger that has just touched the screen stays there. */
export function afterLongPress(
  { clientX, clientY }: Pick<PointerEvent, 'clientX' | 'clientY'>,
  act: () => void,
): void {
  const over = new AbortController()
  const { signal } = over
  const end = () => {
    clearTimeout(timer)
    over.abort()
  }
  const timer = setTimeout(() => {
    end()
    act()
  }, longPressMs)
  const move = (event: PointerEvent) => {
    if (Math.hypot(event.clientX - clientX, event.clientY - clientY) > stillPixels) end()
  }
  addEventListener('pointermove', move, { signal })
  for (const type of ['pointerup', 'pointercancel'] as const) addEventListener(type, end, { signal })
}
