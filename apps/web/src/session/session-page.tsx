import { useEffect, useLayoutEffect, useState } from 'react'
import { Composer } from '../composer/composer.tsx'
import { Queue } from '../composer/queue.tsx'
import { fetchMarkdown } from '../markdown/lazy-markdown.tsx'
import { announce } from '../page/announcer.tsx'
import { prefer, preferences } from '../page/preferences.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { useStore } from '../page/store.ts'
import { Problem } from '../parts/problem.tsx'
import { RequestCard } from '../request/request-card.tsx'
import { markSeen } from '../sessions/seen.ts'
import { Timeline } from '../timeline/timeline.tsx'
import { SessionProvider, usePart, useStatePart } from './session-context.tsx'
import { SessionHeader } from './session-header.tsx'
import { SidePanel } from './side-panel.tsx'

export function SessionPage({ id }: { id: string }) {
  return (
    <SessionProvider id={id} key={id}>
      <Session />
    </SessionProvider>
  )
}

function Session() {
  const [finding, setFinding] = useState(false)
  const status = usePart((snapshot) => snapshot.status)
  const error = usePart((snapshot) => snapshot.error)
  const loaded = useStatePart((state) => state.seq > 0)
  const panel = useStore(preferences, (state) => state.sidePanel)
  useEffect(fetchMarkdown, [])
  useLayoutEffect(clearTheView, [])
  useFindKey(setFinding)
  useSeenHere()
  useTurnNews()
  if (status === 'failed' && error) {
    const gone = error.code === 'not_found'
    return (
      <Problem
        title={gone ? 'This session is not here' : 'This session cannot be shown'}
        text={gone ? 'It was deleted, or the link is not right.' : problemWords(error)}
      />
    )
  }
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 flex-1 flex-col">
        <SessionHeader onFind={() => setFinding(true)} />
        {loaded ? (
          <Timeline findOpen={finding} onFindClose={() => setFinding(false)} />
        ) : (
          <div className="flex flex-1 items-center justify-center text-sm text-faint">
            {error
              ? 'The server does not answer, and this browser has not seen this session yet.'
              : 'Loading…'}
          </div>
        )}
        <Dock />
      </div>
      {panel !== 'none' && loaded && <SidePanel panel={panel} />}
    </div>
  )
}

/** Where a panel lies over the conversation, a session opens without it: something may wait there. */
function clearTheView(): void {
  if (matchMedia('(width < 64rem)').matches) prefer({ sidePanel: 'none' })
}

/** What waits for an answer, what waits its turn, and where to write: always in sight. */
function Dock() {
  const requests = useStatePart((state) => state.requests)
  const id = useStatePart((state) => state.id)
  const agent = useStatePart((state) => state.agent)
  const cwd = useStatePart((state) => state.cwd)
  const [first, ...others] = requests
  useEffect(() => {
    if (first)
      announce(first.type === 'permission' ? `Waits for you: ${first.title}` : 'A question waits for you')
  }, [first])
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pb-[max(0.75rem,env(safe-area-inset-bottom))] max-md:px-2">
      {first && (
        <div className="pb-2">
          <RequestCard key={first.requestId} session={{ id, agent, cwd }} request={first} takesFocus />
          {others.length > 0 && (
            <p className="px-3 pt-1 text-xs font-medium text-wait">
              {others.length === 1 ? 'One more waits after this.' : `${others.length} more wait after this.`}
            </p>
          )}
        </div>
      )}
      <Queue />
      <Composer />
    </div>
  )
}

function useFindKey(setFinding: (open: boolean) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'f' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      setFinding(true)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [setFinding])
}

function useSeenHere(): void {
  const id = useStatePart((state) => state.id)
  const updatedAt = useStatePart((state) => state.updatedAt)
  useEffect(() => {
    const see = () => {
      if (!document.hidden && updatedAt > 0) markSeen(id, updatedAt)
    }
    see()
    addEventListener('visibilitychange', see)
    return () => removeEventListener('visibilitychange', see)
  }, [id, updatedAt])
}

/** Says when a turn that was seen running is over. */
function useTurnNews(): void {
  const turnId = useStatePart((state) => state.turn?.turnId)
  const outcome = useStatePart((state) => state.lastTurn?.outcome)
  const [ran, setRan] = useState(turnId)
  useEffect(() => {
    if (turnId === ran) return
    setRan(turnId)
    if (turnId !== undefined || ran === undefined) return
    announce(outcome === 'completed' ? 'The turn is over' : `The turn ended: ${outcome ?? 'unknown'}`)
  }, [turnId, ran, outcome])
}
