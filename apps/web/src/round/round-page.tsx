import type { Round } from '@parley/protocol'
import { useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords, plural, visible } from '../base/format.logic.ts'
import { replaceRoute, useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { announce } from '../parts/announcer.tsx'
import { Button } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { BackToSessions } from '../parts/link.tsx'
import { AllSessions, Problem } from '../parts/problem.tsx'
import { toastError } from '../parts/toasts.tsx'
import { registerRound } from '../session-data/open-round.ts'
import { AttemptColumn } from './attempt-column.tsx'
import { PickDialog } from './pick-dialog.tsx'
import { attemptAtFirst, checkableAttempts, stateText } from './round.logic.ts'
import { useRound } from './use-round.ts'

const changesPart = lazyPart(() => import('./round-changes.tsx'))

/** The attempts of a round beside each other, and below them the changes of one of them. */
export default function RoundPage() {
  const route = useRoute()
  const id = route.name === 'round' ? route.id : ''
  return <ShownRound key={id} id={id} />
}

function ShownRound({ id }: { id: string }) {
  const { round, error, isGone, refresh } = useRound(id)
  if (round) return <Page round={round} error={error} onDone={refresh} />
  if (isGone)
    return (
      <Problem title="Round not found" text="The sessions of the round were deleted, or the link is wrong.">
        <AllSessions />
      </Problem>
    )
  if (error !== undefined)
    return (
      <Problem title="This round cannot be shown" text={error}>
        <Button className="mt-3" onClick={refresh}>
          Try again
        </Button>
      </Problem>
    )
  return <p className="p-6 text-sm text-faint">Loading…</p>
}

type PageProps = { round: Round; error: string | undefined; onDone: () => void }

function Page({ round, error, onDone }: PageProps) {
  const [picking, setPicking] = useState<number>()
  const { attempts } = round
  const { to, from, show } = useShownAttempts(round)
  useEffect(() => registerRound({ round, onPick: setPicking }), [round])
  useAnnouncedStates(round)
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <Head round={round} error={error} />
      <ol
        aria-label="Attempts"
        className="grid snap-x snap-proximity auto-cols-[minmax(16.5rem,1fr)] grid-flow-col gap-3 overflow-x-auto px-5 pb-4 max-md:auto-cols-[88%] max-md:snap-mandatory max-md:px-3"
      >
        {attempts.map((attempt) => (
          <AttemptColumn
            key={attempt.attempt}
            round={round}
            attempt={attempt}
            isShown={attempt.attempt === to}
            onShow={() => show(attempt.attempt)}
            onPick={() => setPicking(attempt.attempt)}
          />
        ))}
      </ol>
      {attempts.length < round.count && (
        <p className="px-5 pb-3 text-xs text-soft max-md:px-3">
          The round had {round.count} attempts. The others were not made, were deleted, or are not visible to
          you.
        </p>
      )}
      {to !== undefined && (
        <Lazy part={changesPart}>
          {(RoundChanges) => <RoundChanges round={round} to={to} from={from} onShow={show} />}
        </Lazy>
      )}
      {picking !== undefined && (
        <PickDialog round={round} chosen={picking} onDone={onDone} onClose={() => setPicking(undefined)} />
      )}
    </div>
  )
}

/** Announces changes of the states of attempts to screen readers. */
function useAnnouncedStates({ attempts }: Round): void {
  const before = useRef(new Map<number, string>())
  useEffect(() => {
    const news = attempts.flatMap((attempt) => {
      const { text } = stateText(attempt)
      const last = before.current.get(attempt.attempt)
      before.current.set(attempt.attempt, text)
      return last === undefined || last === text ? [] : [`Attempt ${attempt.attempt}: ${text}`]
    })
    if (news.length > 0) announce(news.join('. '))
  }, [attempts])
}

/** The attempt whose changes are shown, and the one with which it is compared. The choice is stored in the address of the page. */
function useShownAttempts(round: Round) {
  const route = useRoute()
  const [first] = useState(() => attemptAtFirst(round))
  const there = (number: number | undefined) =>
    round.attempts.some(({ attempt }) => attempt === number) ? number : undefined
  const asked = route.name === 'round' ? route : undefined
  const to = there(asked?.attempt) ?? there(first) ?? round.attempts[0]?.attempt
  const against = there(asked?.against)
  const show = (attempt: number, other?: number) =>
    replaceRoute({
      name: 'round',
      id: round.id,
      attempt,
      ...(other !== undefined && { against: other }),
    })
  return { to, from: against === to ? undefined : against, show }
}

function Head({ round, error }: { round: Round; error: string | undefined }) {
  const now = useNow()
  const { title, attempts, from, picked, prompt, createdAt } = round
  const facts = [
    `${plural(attempts.length, 'attempt')}${from === undefined ? '' : ` from ${visible(from)}`}`,
    agoInWords(createdAt, now),
    picked === undefined ? 'no attempt is picked' : `attempt ${picked} is picked`,
  ]
  return (
    <div className="px-5 pt-5 pb-4 max-md:px-3 max-md:pt-2">
      <div className="flex flex-wrap items-center gap-2">
        <BackToSessions />
        <h1 className="min-w-0 flex-1 text-title font-semibold tracking-tight [overflow-wrap:anywhere]">
          {visible(title) || 'Untitled'}
        </h1>
        <CheckAll round={round} />
      </div>
      <p className="text-xs text-soft">{facts.join(' · ')}</p>
      {error !== undefined && (
        <p role="status" className="pt-1 text-xs text-bad">
          {error}
        </p>
      )}
      {prompt !== undefined && (
        <details className="pt-2 text-sm">
          <summary className="w-fit cursor-pointer rounded text-xs font-medium text-soft hover:text-ink pointer-coarse:min-h-11 pointer-coarse:py-3">
            Prompt
          </summary>
          <p className="max-h-60 max-w-3xl overflow-y-auto pt-1 [overflow-wrap:anywhere] whitespace-pre-wrap">
            {visible(prompt)}
          </p>
        </details>
      )}
    </div>
  )
}

/** Runs the check of every attempt that has work to check. */
function CheckAll({ round }: { round: Round }) {
  const due = checkableAttempts(round)
  const decides = useMay('decide')
  if (!decides || due.length < 2) return null
  const run = () => {
    for (const { sessionId } of due) client.command(sessionId, { type: 'check.run' }).catch(toastError)
  }
  return <Button onClick={run}>Run {due.length} checks</Button>
}
