import { lazy, Suspense, useEffect, useState } from 'react'
import { InboxPage } from './inbox/inbox-page.tsx'
import { Announcer } from './page/announcer.tsx'
import { useConnection } from './page/client.ts'
import { ConnectionNote } from './page/connection-note.tsx'
import { startKeys } from './page/keys.ts'
import { showInTab } from './page/news.ts'
import { problemWords } from './page/problem-words.logic.ts'
import type { Route } from './page/route.logic.ts'
import { useRoute } from './page/route.ts'
import { Toasts } from './page/toasts.tsx'
import { Link } from './parts/link.tsx'
import { Problem } from './parts/problem.tsx'
import { SessionPage } from './session/session-page.tsx'
import { Sidebar } from './sessions/sidebar.tsx'
import { StartPage } from './start/start-page.tsx'

const SettingsPage = lazy(() => import('./settings/settings-page.tsx'))
const ImportPage = lazy(() => import('./import/import-page.tsx'))
const Palette = lazy(() => import('./palette/palette.tsx'))

export function App() {
  const route = useRoute()
  const [palette, setPalette] = useState(false)
  useEffect(() => startKeys({ openPalette: () => setPalette(true) }), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the title follows the place
  useEffect(showInTab, [route])
  const connection = useConnection()
  if (connection.state === 'stopped') {
    return (
      <main className="h-dvh">
        <Problem title="This browser is not signed in" text={problemWords(connection.error)} />
      </main>
    )
  }
  const home = route.name === 'home'
  return (
    <div className="flex h-dvh min-h-0">
      <div
        className={`w-72 shrink-0 border-r border-line max-md:w-full max-md:border-0 ${home ? '' : 'max-md:hidden'}`}
      >
        <Sidebar />
      </div>
      <main className={`flex min-w-0 flex-1 flex-col ${home ? 'max-md:hidden' : ''}`}>
        <div className="min-h-0 flex-1">
          <Place route={route} />
        </div>
        <div className="md:hidden">
          <ConnectionNote />
        </div>
      </main>
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
      <Toasts />
      <Announcer />
    </div>
  )
}

function Place({ route }: { route: Route }) {
  switch (route.name) {
    case 'session':
      return <SessionPage id={route.id} />
    case 'inbox':
      return <InboxPage />
    case 'import':
      return (
        <Suspense>
          <ImportPage />
        </Suspense>
      )
    case 'nowhere':
      return (
        <Problem title="There is nothing at this address" text="The link may be old, or mistyped.">
          <Link to={{ name: 'home' }} className="inline-block pt-3 text-sm text-mark hover:underline">
            All sessions
          </Link>
        </Problem>
      )
    case 'settings':
      return (
        <Suspense>
          <SettingsPage section={route.section} />
        </Suspense>
      )
    default:
      return <StartPage />
  }
}
