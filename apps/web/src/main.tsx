import { ParleyProvider } from '@parley/client/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { keepPage } from './cache/keep-page.ts'
import { sendLeftBehind } from './composer/outbox.ts'
import { Catcher } from './page/catcher.tsx'
import { client } from './page/client.ts'
import { startNews } from './page/news.ts'
import { applyTheme } from './page/preferences.ts'
import './style.css'

applyTheme()
startNews()
sendLeftBehind()
keepPage()

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <ParleyProvider client={client}>
        <Catcher>
          <App />
        </Catcher>
      </ParleyProvider>
    </StrictMode>,
  )
}
