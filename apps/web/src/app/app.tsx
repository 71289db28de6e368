import { type ReactNode, useEffect } from 'react'
import { useConnection } from '../base/client.ts'
import { useIsNarrow, useWindowEvent } from '../base/effects.ts'
import { preferences } from '../base/preferences.ts'
import type { Route } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { Announcer } from '../parts/announcer.tsx'
import { ConnectionNote } from '../parts/connection-note.tsx'
import { Dialog, pageDialog } from '../parts/dialog.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { BackToSessions } from '../parts/link.tsx'
import { AllSessions, Problem } from '../parts/problem.tsx'
import { Toasts } from '../parts/toasts.tsx'
import { updateTab } from '../session-data/news.ts'
import { worktreeRemoval } from '../session-data/worktree-removal.ts'
import { Sidebar } from '../sessions/sidebar.tsx'
import { StartPage } from '../start/start-page.tsx'
import { handlePageKey } from './keys.ts'
import { SessionPage } from './session-page.tsx'

const pages = {
  inbox: lazyPart(() => import('../inbox/inbox-page.tsx')),
  settings: lazyPart(() => import('../settings/settings-page.tsx')),
  import: lazyPart(() => import('../import/import-page.tsx')),
  round: lazyPart(() => import('../round/round-page.tsx')),
}
const signedOutPart = lazyPart(() => import('../sign-in/signed-out-page.tsx'))
const palettePart = lazyPart(() => import('../palette/palette.tsx'))
const railPart = lazyPart(() => import('../sessions/sidebar-rail.tsx'))
const worktreePart = lazyPart(() => import('./worktree-dialog.tsx'))
const keysPart = lazyPart(() => import('../settings/keys-dialog.tsx'))

export function App() {
  const route = useRoute()
  const shown = useStore(pageDialog)
  // On a phone the list is a page of its own.
  const isNarrow = useIsNarrow()
  const isCollapsed = useStore(preferences, ({ sidebarCollapsed }) => sidebarCollapsed) && !isNarrow
  const close = () => pageDialog.set(undefined)
  const removal = useStore(worktreeRemoval)
  const closeRemoval = () => worktreeRemoval.set(undefined)
  useWindowEvent('keydown', handlePageKey)
  useEffect(() => updateTab(route), [route])
  const connection = useConnection()
  if (connection.state === 'stopped') {
    return (
      <main className="h-dvh">
        <Lazy part={signedOutPart}>{(SignedOutPage) => <SignedOutPage error={connection.error} />}</Lazy>
      </main>
    )
  }
  const home = route.name === 'home'
  return (
    <div
      className={`group/page grid h-dvh grid-cols-1 grid-rows-[minmax(0,1fr)] ${isCollapsed ? 'md:grid-cols-[2.75rem_minmax(0,1fr)]' : 'md:grid-cols-[18rem_minmax(0,1fr)]'} md:max-lg:has-[[data-panel]]:grid-cols-[0_minmax(0,1fr)]`}
    >
      <button
        type="button"
        onClick={() => document.getElementById('place')?.focus()}
        className="sr-only rounded-md bg-card px-3 py-2 text-sm font-medium text-mark focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
      >
        Skip to content
      </button>
      <Toasts />
      <div
        role={home && isNarrow ? 'main' : undefined}
        className={`min-h-0 border-line md:border-r md:max-lg:group-has-[[data-panel]]/page:hidden ${home ? '' : 'max-md:hidden'}`}
      >
        {isCollapsed ? <Lazy part={railPart}>{(SidebarRail) => <SidebarRail />}</Lazy> : <Sidebar />}
      </div>
      <main
        id="place"
        tabIndex={-1}
        className={`outline-none flex min-h-0 min-w-0 flex-col md:col-start-2 ${home ? 'max-md:hidden' : ''}`}
      >
        <div className="min-h-0 flex-1">
          <RoutePage route={route} />
        </div>
        <div className="md:hidden">
          <ConnectionNote />
        </div>
      </main>
      {shown === 'palette' && (
        <Lazy
          part={palettePart}
          frame={(inside) => (
            <Dialog label="Command palette" onClose={close}>
              {inside}
            </Dialog>
          )}
        >
          {(Palette) => <Palette onClose={close} />}
        </Lazy>
      )}
      {shown === 'keys' && (
        <Dialog label="Keyboard shortcuts" className="w-[min(46rem,calc(100vw-1.5rem))]!" onClose={close}>
          <Lazy part={keysPart}>{(KeysDialog) => <KeysDialog onClose={close} />}</Lazy>
        </Dialog>
      )}
      {removal && (
        <Dialog label="Remove the worktree" onClose={closeRemoval}>
          <Lazy part={worktreePart}>
            {(WorktreeDialog) => <WorktreeDialog removal={removal} onClose={closeRemoval} />}
          </Lazy>
        </Dialog>
      )}
      <Announcer />
    </div>
  )
}

function RoutePage({ route }: { route: Route }) {
  switch (route.name) {
    case 'session':
      return <SessionPage id={route.id} />
    case 'inbox':
    case 'import':
    case 'round':
    case 'settings':
      return (
        <Lazy key={route.name} part={pages[route.name]} frame={withBackLink}>
          {(Page) => <Page />}
        </Lazy>
      )
    case 'nowhere':
      return (
        <Problem title="Page not found" text="The link may be outdated or mistyped.">
          <AllSessions />
        </Problem>
      )
    default:
      return <StartPage />
  }
}

function withBackLink(inside: ReactNode): ReactNode {
  return (
    <div className="flex h-full flex-col p-2">
      <BackToSessions />
      {inside}
    </div>
  )
}
