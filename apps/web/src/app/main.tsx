import { ParleyProvider } from '@parley/client/react'
import { type ComponentType, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { client } from '../base/client.ts'
import { isSignedIn } from '../base/device.ts'
import { applyTheme } from '../base/preferences.ts'
import { pushMark } from '../base/push-mark.ts'
import { currentRoute, placeInside } from '../base/route.ts'
import { watchSelf } from '../base/self.ts'
import { registerServiceWorker } from '../base/service-worker.ts'
import { Button } from '../parts/button.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { Problem } from '../parts/problem.tsx'
import { startAnswers } from '../request/answers.ts'
import { startNotifications } from '../session-data/news.ts'
import { startPresence } from '../session-data/presence.ts'
import { startPrompts } from '../session-data/prompts.ts'
import { cacheSessionList } from '../session-data/session-list.ts'
import { sessionSource } from '../session-data/session-source.ts'
import { watchSignOut } from '../session-data/sign-out.ts'
import { cacheWaitingList } from '../session-data/waiting-list.ts'
import { App } from './app.tsx'
import { fetchSessionParts } from './session-page.tsx'
import './style.css'
import { finishDeletions } from '../sessions/deleting.ts'

applyTheme()
const place = placeInside()
if (place === '/open/') void import('../sign-in/sign-in-page.tsx').then(show)
else if (place === '/pair/') void import('../sign-in/pair-page.tsx').then(show)
else if (place === '/decide/') void import('../request/link-page.tsx').then(show)
else if (!isSignedIn()) void import('../sign-in/signed-out-page.tsx').then(show)
else start()

function start(): void {
  const route = currentRoute()
  if (route.name === 'session') {
    // Starts the slow loads before the first render.
    sessionSource(route.id)
    fetchSessionParts()
  }
  watchSelf()
  cacheSessionList()
  cacheWaitingList()
  startNotifications()
  startPresence()
  startPrompts()
  finishDeletions()
  startAnswers()
  registerServiceWorker()
  if (pushMark() !== undefined)
    void import('../base/push.ts').then(({ renewPush }) => renewPush()).catch(() => {})
  watchSignOut()
  show({ default: App })
}

function show({ default: Page }: { default: ComponentType }): void {
  const root = document.getElementById('root')
  if (!root) return
  createRoot(root).render(
    <StrictMode>
      <ParleyProvider client={client}>
        <ErrorBoundary fallback={(error) => <Crashed error={error} />}>
          <Page />
        </ErrorBoundary>
      </ParleyProvider>
    </StrictMode>,
  )
}

/** Shown in place of a page that threw. No session data is lost. */
function Crashed({ error }: { error: Error }) {
  return (
    <main className="h-dvh">
      <Problem
        title="The page crashed"
        text={`Your sessions are safe: they are stored on the server.\n\n${error.message}`}
      >
        <div className="pt-4">
          <Button look="primary" onClick={() => location.reload()}>
            Reload the page
          </Button>
        </div>
      </Problem>
    </main>
  )
}
