import type { SessionContext } from './session-services.ts'

const pauseMs = 100

/** Announces the output of programs that run for a command, at most every 100 ms. The output is not recorded. */
export function createProgress(
  { log, services: { clock } }: Pick<SessionContext, 'log' | 'services'>,
  commandId: string,
) {
  let told = ''
  let latest = ''
  let stopTimer: (() => void) | undefined
  let isOver = false
  const announce = () => {
    stopTimer = undefined
    if (isOver || latest === told) return
    const text = latest
    // While events are being stored, nothing is announced; the next call tries again.
    if (log.stream({ type: 'command.progressed', commandId, text }) === undefined) told = text
    stopTimer = clock.after(pauseMs, announce, { background: true })
  }
  return {
    tell(text: string): void {
      latest = text
      if (!stopTimer) announce()
    },
    stop(): void {
      isOver = true
      stopTimer?.()
    },
  }
}
