import { ParleyProvider } from '@parley/client/react'
import { type ComponentType, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { keepPage } from './cache/keep-page.ts'
import { sessionSource } from './cache/session-source.ts'
import { watchSignOut } from './cache/sign-out.ts'
import { sendLeftBehind } from './composer/outbox.ts'
import { fetchDiffs } from './diff/diff-view.tsx'
import { fetchMarkdown } from './markdown/lazy-markdown.tsx'
import { Catcher } from './page/catcher.tsx'
import { client } from './page/client.ts'
import { isSignedIn } from './page/device.ts'
import { startNews } from './page/news.ts'
import { applyTheme } from './page/preferences.ts'
import { currentRoute } from './page/route.ts'
import { keepSessions } from './page/sessions.ts'
import { keepWaiting } from './page/waiting.ts'
import { fetchCards } from './request/request-card.tsx'
import { watchAnswers } from './request/send-answer.ts'
import './style.css'
import { deleteLeftBehind } from './sessions/deleting.ts'

applyTheme()
if (location.pathname === '/open') void import('./sign-in/sign-in-page.tsx').then(show)
else if (!isSignedIn()) void import('./sign-in/signed-out-page.tsx').then(show)
else start()

function start(): void {
  const route = currentRoute()
  if (route.name === 'session') {
    // Start slow loads before the first render.
    sessionSource(route.id)
    fetchMarkdown()
    fetchDiffs()
    fetchCards()
  }
  keepSessions()
  keepWaiting()
  startNews()
  sendLeftBehind()
  deleteLeftBehind()
  watchAnswers()
  keepPage()
  watchSignOut()
  show({ default: App })
}

function show({ default: Page }: { default: ComponentType }): void {
  const root = document.getElementById('root')
  if (!root) return
  createRoot(root).render(
    <StrictMode>
      <ParleyProvider client={client}>
        <Catcher>
          <Page />
        </Catcher>
      </ParleyProvider>
    </StrictMode>,
  )
}
