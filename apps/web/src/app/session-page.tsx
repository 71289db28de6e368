import type { TurnOutcome } from '@parley/protocol'
import { useEffect, useLayoutEffect, useState } from 'react'
import { usePageVisible, useWindowEvent } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { isEditable } from '../base/focus.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { useMay } from '../base/self.ts'
import { isSingleKey, shortcutOf } from '../base/shortcuts.logic.ts'
import { pressedAction } from '../base/shortcuts.ts'
import { useStore } from '../base/store.ts'
import { fetchCallDetails } from '../call/lazy-call-detail.tsx'
import { Composer } from '../composer/composer.tsx'
import { Queue } from '../composer/queue.tsx'
import { BypassStrip } from '../composer/session-settings.tsx'
import { announce } from '../parts/announcer.tsx'
import { fetchDiffs } from '../parts/diff/diff-view.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { fetchMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { AllSessions, Problem } from '../parts/problem.tsx'
import { useUnansweredFirst } from '../request/answers.ts'
import { fetchCards, RequestCard } from '../request/request-card.tsx'
import { useAwaited } from '../session-data/awaited.ts'
import { markSeen } from '../session-data/seen.ts'
import {
  SessionProvider,
  useSessionId,
  useSessionState,
  useSnapshot,
} from '../session-data/session-context.tsx'
import { SessionFiles } from '../session-data/session-files.tsx'
import { useStopTurn } from '../session-data/stop-turn.ts'
import { fetchTurnLines } from '../timeline/lazy-turn-line.tsx'
import { fetchMessageActions } from '../timeline/row-actions.tsx'
import { Timeline } from '../timeline/timeline.tsx'
import { useFileInAddress } from './file-address.ts'
import { SessionHeader } from './session-header.tsx'

const panelPart = lazyPart(() => import('./side-panel.tsx'))
const worktreePart = lazyPart(() => import('./worktree-strip.tsx'))
const roundPart = lazyPart(() => import('./round-strip.tsx'))

/** Fetches the code that most sessions need, ahead of time. */
export function fetchSessionParts(): void {
  fetchMarkdown()
  fetchDiffs()
  fetchCallDetails()
  fetchCards()
  fetchTurnLines()
  fetchMessageActions()
  panelPart.fetch()
}

export function SessionPage({ id }: { id: string }) {
  return (
    <SessionProvider id={id} key={id}>
      <Session />
    </SessionProvider>
  )
}

function Session() {
  const [finding, setFinding] = useState(false)
  const status = useSnapshot((snapshot) => snapshot.status)
  const error = useSnapshot((snapshot) => snapshot.error)
  const loaded = useSessionState((state) => state.seq > 0)
  const isAttempt = useSessionState((state) => state.round !== undefined)
  const panel = useStore(preferences, (state) => state.sidePanel)
  const session = { id: useSessionId(), cwd: useSessionState((state) => state.cwd) }
  useEffect(fetchSessionParts, [])
  useLayoutEffect(closePanelOnNarrowScreen, [])
  useFileInAddress(session.id)
  useFindKey(setFinding)
  useStopKey(finding, setFinding)
  useMarkSeen()
  useAnnounceTurnEnd()
  if (status === 'failed' && error) {
    const gone = error.code === 'not_found'
    return (
      <Problem
        title={gone ? 'Session not found' : 'This session cannot be shown'}
        text={gone ? 'It was deleted, or the link is wrong.' : errorText(error)}
      >
        <AllSessions />
      </Problem>
    )
  }
  return (
    <SessionFiles session={session}>
      <div className="flex h-full min-h-0">
        <div className="flex min-w-0 flex-1 flex-col">
          <SessionHeader onFind={() => setFinding(true)} />
          {isAttempt && (
            <Lazy part={roundPart} frame={() => null}>
              {(RoundStrip) => <RoundStrip />}
            </Lazy>
          )}
          {loaded ? (
            <Timeline findOpen={finding} onFindClose={() => setFinding(false)} />
          ) : (
            <div className="flex flex-1 items-center justify-center px-6 text-center text-sm text-faint">
              {error ? 'Offline, and this browser has no saved copy of this session.' : 'Loading…'}
            </div>
          )}
          <Dock />
        </div>
        {panel !== 'none' && loaded && (
          <Lazy part={panelPart}>{(SidePanel) => <SidePanel panel={panel} />}</Lazy>
        )}
      </div>
    </SessionFiles>
  )
}

/** Closes the panel on a narrow screen, where it would cover the conversation and any open request. */
function closePanelOnNarrowScreen(): void {
  if (matchMedia('(width < 48rem)').matches) setPreferences({ sidePanel: 'none' })
}

/**
 * In a card that is too tall, the request scrolls and the buttons remain visible. On a screen of very small height, the
 * whole card scrolls. A card that is shorter than the minimum height stays next to the composer.
 */
const fitting =
  'flex min-h-32 flex-col justify-end [@media(height<28rem)]:shrink-0 *:flex *:min-h-0 *:flex-col max-md:min-h-52 [&>section>form:only-child]:flex [&>section>form:only-child]:min-h-0 [&>section>form:only-child]:flex-col'

/** Open requests, the queue and the composer. They are always visible. */
function Dock() {
  const requests = useSessionState((state) => state.requests)
  const id = useSessionState((state) => state.id)
  const agent = useSessionState((state) => state.agent)
  const cwd = useSessionState((state) => state.cwd)
  const worktreeShown = useSessionState(
    ({ worktree }) =>
      worktree !== undefined &&
      (worktree.phase !== 'ready' || worktree.failure !== undefined || worktree.submodules !== undefined),
  )
  const awaited = useAwaited()
  const [prompts, decides] = [useMay('prompt'), useMay('decide')]
  const { open, answered } = useUnansweredFirst(requests)
  const [first, ...others] = open
  useEffect(() => {
    if (first)
      announce(
        first.type === 'permission'
          ? `Needs ${decides ? 'your' : 'an'} approval: ${first.title}`
          : 'A question',
      )
  }, [first, decides])
  return (
    // At any height, part of the conversation remains visible (a third on a screen of small height, e.g. at 200 %
    // zoom), and the card shrinks before the composer does.
    <div className="mx-auto flex max-h-[calc(100%-6.5rem)] min-h-0 [@media(height<36rem)]:max-h-[62%] w-full max-w-3xl flex-col px-4 pb-[max(0.75rem,env(safe-area-inset-bottom))] max-md:px-2">
      {open.length + answered.length > 0 && (
        <div
          data-testid="requests"
          className="-mx-1 flex min-h-0 flex-col gap-2 overflow-y-auto overscroll-contain px-1 pt-1 pb-2"
        >
          {answered.map((request) => (
            <div key={request.requestId} className="shrink-0">
              <RequestCard session={{ id, agent, cwd }} request={request} />
            </div>
          ))}
          {first && (
            <div className={fitting}>
              <RequestCard
                key={first.requestId}
                session={{ id, agent, cwd }}
                request={first}
                takesFocus={decides}
                awaited={awaited?.machine}
              />
            </div>
          )}
          {others.length > 0 && (
            <p className="shrink-0 px-3 text-xs font-medium text-wait">
              {others.length === 1
                ? '1 more request after this.'
                : `${others.length} more requests after this.`}
            </p>
          )}
        </div>
      )}
      <Queue />
      <BypassStrip />
      {worktreeShown && <Lazy part={worktreePart}>{(WorktreeStrip) => <WorktreeStrip />}</Lazy>}
      {prompts ? (
        <Composer />
      ) : (
        <NeedsScope
          what="You can read this session. Sending prompts"
          scope="prompt"
          className="rounded-xl border border-line bg-side px-3.5 py-2.5"
        />
      )}
    </div>
  )
}

function useFindKey(setFinding: (open: boolean) => void): void {
  useWindowEvent('keydown', (event) => {
    if (event.defaultPrevented || pressedAction(event) !== 'find') return
    if (isEditable(event.target) && isSingleKey(shortcutOf(event) ?? '')) return
    if (document.querySelector('dialog[open]')) return
    // Inside a panel, the panel handles the key: a terminal has its own search, and changes use the browser's search.
    if (event.target instanceof Element && event.target.closest('aside')) return
    event.preventDefault()
    setFinding(true)
  })
}

/** Escape stops the turn, except in a field or a panel, which handle the key themselves. An open find bar closes first. */
function useStopKey(finding: boolean, setFinding: (open: boolean) => void): void {
  const stop = useStopTurn()
  const running = useSessionState((state) => state.turn !== undefined && !state.turn.interrupted)
  useWindowEvent('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing || event.repeat) return
    if (isEditable(event.target) || (event.target instanceof Element && event.target.closest('aside'))) return
    if (document.querySelector('dialog[open], [popover]:popover-open')) return
    if (finding) setFinding(false)
    else if (running) stop()
  })
}

function useMarkSeen(): void {
  const id = useSessionState((state) => state.id)
  // A working session does not count as unread. It is marked as seen when it stops, not with every event.
  const updatedAt = useSessionState((state) => (state.status === 'working' ? 0 : state.updatedAt))
  const isVisible = usePageVisible()
  useEffect(() => {
    if (isVisible && updatedAt > 0) markSeen(id, updatedAt)
  }, [id, updatedAt, isVisible])
}

const turnEnds: Record<TurnOutcome, string> = {
  completed: 'Turn finished',
  failed: 'Turn failed',
  cancelled: 'Turn stopped',
  unknown: 'Turn ended; its outcome is unknown',
}

/** Announces the end of a turn that was running on this page. */
function useAnnounceTurnEnd(): void {
  const turnId = useSessionState((state) => state.turn?.turnId)
  const outcome = useSessionState((state) => state.lastTurn?.outcome)
  const [ran, setRan] = useState(turnId)
  useEffect(() => {
    if (turnId === ran) return
    setRan(turnId)
    if (turnId !== undefined || ran === undefined) return
    announce(turnEnds[outcome ?? 'unknown'])
  }, [turnId, ran, outcome])
}
