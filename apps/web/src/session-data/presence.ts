import { client } from '../base/client.ts'

const repeatMs = 60_000
/** A page that nobody has used for this time counts as not visible: the person may have left the desk. */
const idleMs = 180_000

/**
 * Reports to the server whether the person sees this page. While a page is visible, the server pushes no
 * notifications.
 */
export function startPresence(): void {
  let usedAt = performance.now()
  const tell = () => {
    const visible = document.visibilityState === 'visible' && performance.now() - usedAt < idleMs
    client.socket.send({ type: 'presence', visible })
  }
  const use = () => {
    const wasIdle = performance.now() - usedAt >= idleMs
    usedAt = performance.now()
    if (wasIdle) tell()
  }
  for (const type of ['pointermove', 'pointerdown', 'keydown'])
    addEventListener(type, use, { passive: true, capture: true })
  document.addEventListener('visibilitychange', () => {
    use()
    tell()
  })
  client.socket.onStatus(({ state }) => state === 'open' && tell())
  setInterval(tell, repeatMs)
}
