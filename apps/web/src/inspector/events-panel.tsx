import type { SessionEvent, UnknownEvent } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { actorText, otherActorText } from '../base/actor-text.logic.ts'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { useSelf } from '../base/self.ts'
import { asJson } from '../call/call-text.logic.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { type CheckResult, checkText } from './check-text.logic.ts'

type AnyEvent = SessionEvent | UnknownEvent
const maxShown = 500

/** The session's log, the newest event first. */
export default function EventsPanel() {
  const events = useEvents(useSessionId())
  const self = useSelf()
  return (
    <>
      <SealCheck />
      <ol className="font-mono text-xs" reversed start={events.at(-1)?.seq}>
        {events.toReversed().map((event) => (
          <li key={event.seq} className="border-b border-line">
            <details>
              <summary className="flex items-center gap-2 px-4 py-1 hover:bg-hover pointer-coarse:min-h-11">
                <span className="w-12 shrink-0 text-right text-faint tabular-nums">{event.seq}</span>
                <span className="min-w-0 flex-1 truncate">
                  {event.type}
                  {otherActorText(event.actor, self) !== undefined && (
                    <span className="text-soft"> {otherActorText(event.actor, self)}</span>
                  )}
                </span>
                <span className="text-faint">{new Date(event.at).toLocaleTimeString()}</span>
              </summary>
              <div className="relative bg-sunk">
                {event.actor && (
                  <p className="px-4 pt-2 pr-10 font-sans text-soft [overflow-wrap:anywhere]">
                    By {actorText(event.actor)}, through {event.actor.via}
                  </p>
                )}
                <CopyButton
                  text={() => asJson(event)}
                  label="Copy event"
                  className="absolute! top-1 right-1"
                />
                <ScrollRegion label={`Event ${event.seq}`} className="max-h-96 overflow-auto px-4 py-2">
                  <pre className="whitespace-pre-wrap [overflow-wrap:anywhere]">
                    {asJson(event).slice(0, 50_000)}
                  </pre>
                </ScrollRegion>
              </div>
            </details>
          </li>
        ))}
      </ol>
    </>
  )
}

/**
 * Shows whether the events match their seals. The check runs only when the panel is opened, because the server must
 * read the whole log.
 */
function SealCheck() {
  const result = useCheck(useSessionId())
  const { text, isBad } = result === undefined ? { text: 'Verifying…', isBad: false } : checkText(result)
  return (
    <p
      role="status"
      className={`border-b border-line px-4 py-2 text-sm [overflow-wrap:anywhere] ${isBad ? 'text-bad' : 'text-soft'}`}
    >
      {text}
    </p>
  )
}

function useCheck(sessionId: string): CheckResult | undefined {
  const [result, setResult] = useState<CheckResult>()
  useEffect(
    () =>
      abortable((signal) => {
        setResult(undefined)
        client.call('checkLog', { params: { id: sessionId }, signal }).then(setResult, (thrown: unknown) => {
          if (!signal.aborted) setResult({ error: errorText(thrown) })
        })
      }),
    [sessionId],
  )
  return result
}

function useEvents(sessionId: string): readonly AnyEvent[] {
  const [events, setEvents] = useState<readonly AnyEvent[]>([])
  useEffect(() => {
    const controller = new AbortController()
    let waiting: AnyEvent[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = () => {
      timer = undefined
      const fresh = waiting
      waiting = []
      setEvents((before) => [...before, ...fresh].slice(-maxShown))
    }
    const start = async () => {
      const { head } = await client.call('events', { params: { id: sessionId }, query: { limit: 1 } })
      client.follow(
        sessionId,
        {
          onEvent(event) {
            waiting.push(event)
            timer ??= setTimeout(flush, 100)
          },
          onReset: () => setEvents([]),
        },
        { after: Math.max(0, head - maxShown), signal: controller.signal },
      )
    }
    setEvents([])
    void start().catch(() => {})
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [sessionId])
  return events
}
