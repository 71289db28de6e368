import type { SessionState } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'
import type { Awaited } from '../session-data/awaited.ts'

/** The texts that the page of a session shows while no server runs on the session's machine. */
export function awaitedTexts(sessionId: string, machine: string): Awaited {
  const name = visible(machine)
  return {
    sessionId,
    machine,
    placeholder: `Queue a prompt; it runs when ${name} is back…`,
    queueTitle: `Queue: runs when ${name} is back (Enter)`,
    lastRow: (state) => lastRow(state, name),
  }
}

type Work = Pick<SessionState, 'status' | 'requests' | 'queue'>

function lastRow({ status, requests, queue }: Work, machine: string): string | undefined {
  if (requests.length > 0) return undefined
  if (status === 'parked') return `Answered; continues when ${machine} is back`
  const hasWork = status !== 'idle' || queue.some(({ paused }) => !paused)
  return hasWork ? `Waits for ${machine}` : undefined
}
