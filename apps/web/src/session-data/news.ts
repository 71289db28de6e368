import { type SessionSummary, visible } from '@parley/protocol'
import { client } from '../base/client.ts'
import { preferences } from '../base/preferences.ts'
import { pushMark } from '../base/push-mark.ts'
import { currentRoute, navigate } from '../base/route.ts'
import { may } from '../base/self.ts'
import { toast } from '../parts/toasts.tsx'
import { endedTurns, type News, newRequests, pageTitle, placeName } from './news.logic.ts'
import { sessions } from './session-list.ts'
import { waiting } from './waiting-list.ts'

const notifiedKey = 'parley:notified'
const maxStored = 200
const newDeviceMs = 30_000

/** Reports open requests and ended turns in the tab's title and icon, and by notifications if the session is not in view. */
export function startNotifications(): void {
  let requests: ReadonlySet<string> | undefined
  let known: ReadonlyMap<string, SessionSummary> | undefined
  waiting.subscribe(() => {
    const snapshot = waiting.getSnapshot()
    updateTab()
    if (snapshot.status !== 'live') return
    // Only people who may answer are notified.
    if (may('decide')) for (const news of newRequests(requests, snapshot.requests)) void notify(news)
    requests = new Set(snapshot.requests.map(({ request }) => request.requestId))
  })
  sessions.subscribe(() => {
    const snapshot = sessions.getSnapshot()
    updateTab()
    if (snapshot.status !== 'live') return
    for (const news of endedTurns(known, snapshot.sessions)) void notify(news)
    known = new Map(snapshot.sessions.map((session) => [session.id, session]))
  })
  client.socket.onFrame((frame) => {
    if (frame.type === 'device-added')
      toast(`New device signed in: ${visible(frame.device.name)}`, { ms: newDeviceMs })
  })
  addEventListener('popstate', () => updateTab())
  client.closing.addEventListener('abort', () => {
    document.title = 'Parley'
  })
}

export function updateTab(route = currentRoute()): void {
  // Requests that only others can answer are not counted.
  const count = may('decide') ? waiting.getSnapshot().requests.length : 0
  const all = sessions.getSnapshot().sessions
  const here = route.name === 'session' ? all.find((session) => session.id === route.id) : undefined
  const title = pageTitle(count, placeName(route, here?.title))
  if (document.title !== title) document.title = title
  const busy = all.some((session) => session.status === 'working' || session.status === 'background')
  const icon = count > 0 ? 'icon-waiting.svg' : busy ? 'icon-working.svg' : 'icon.svg'
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  if (link && link.getAttribute('href') !== icon) link.href = icon
}

/** Shows a notification in one tab only: a lock serializes the tabs, and the keys of shown notifications are stored. */
async function notify(news: News): Promise<void> {
  if (!preferences.get().notifications || !('Notification' in window)) return
  if (Notification.permission !== 'granted') return
  // If pushes are on, the server pushes this notification to the browser.
  if (pushMark() !== undefined) return
  await navigator.locks.request('parley-news', async () => {
    if (wasNotified(news.key)) return
    const route = currentRoute()
    const looking = document.hasFocus() && route.name === 'session' && route.id === news.sessionId
    if (looking) return
    const body = visible(news.text)
    const shown = new Notification(visible(news.title), { body, tag: news.key, icon: 'icon.svg' })
    shown.onclick = () => {
      focus()
      navigate({ name: 'session', id: news.sessionId })
      shown.close()
    }
  })
}

function wasNotified(key: string): boolean {
  try {
    const notified = JSON.parse(localStorage.getItem(notifiedKey) ?? '[]') as string[]
    if (notified.includes(key)) return true
    localStorage.setItem(notifiedKey, JSON.stringify([...notified, key].slice(-maxStored)))
  } catch {}
  return false
}
