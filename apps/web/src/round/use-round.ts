import { hasCode, type Round } from '@parley/protocol'
import { useCallback, useEffect, useRef, useState } from 'react'
import { client, useConnection } from '../base/client.ts'
import { useWindowEvent } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { useAllSessions } from '../session-data/session-list.ts'

/** The minimum time between two requests for a round, whose sessions may change all the time. */
const restMs = 1_000

type Seen = { readonly round?: Round; readonly error?: string; readonly isGone?: boolean }

/**
 * A round, read again when the session list shows that one of its sessions has changed, when the server is reachable
 * again, and when the page becomes visible again.
 */
export function useRound(id: string) {
  const [seen, setSeen] = useState<Seen>({})
  const read = useRef<() => void>(() => {})
  const online = useConnection().state === 'open'
  useEffect(() => {
    const controller = new AbortController()
    read.current = atIntervals(
      () =>
        client.call('getRound', { params: { id }, signal: controller.signal }).then(
          (round) => controller.signal.aborted || setSeen({ round }),
          (thrown: unknown) => {
            if (controller.signal.aborted) return
            // The shown round stays, unless the server reports that there is no such round.
            const isGone = hasCode(thrown, 'not_found')
            setSeen((before) => ({ ...(!isGone && before), error: errorText(thrown), isGone }))
          },
        ),
      controller.signal,
    )
    return () => controller.abort()
  }, [id])
  const { sessions } = useAllSessions()
  const changes = seen.round?.attempts.map(
    ({ sessionId }) => sessions.find((one) => one.id === sessionId)?.seq,
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: read again for each of these reasons
  useEffect(() => read.current(), [id, online, changes?.join()])
  useWindowEvent('focus', () => document.hidden || read.current())
  const refresh = useCallback(() => read.current(), [])
  return { ...seen, refresh }
}

/** Runs `work` at once, and again on request, with a pause after each run. */
function atIntervals(work: () => Promise<unknown>, signal: AbortSignal): () => void {
  let isBusy = false
  let isAsked = false
  const run = async () => {
    isBusy = true
    isAsked = false
    await work()
    await new Promise((resolve) => setTimeout(resolve, restMs))
    isBusy = false
    if (isAsked && !signal.aborted) void run()
  }
  return () => {
    isAsked = true
    if (!isBusy && !signal.aborted) void run()
  }
}
