import type { Browser, Page } from 'playwright-core'

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur?: number
  /** Of `dur`, while it had a processor. */
  readonly tdur?: number
}

const categories = ['disabled-by-default-devtools.timeline', 'blink.user_timing', 'devtools.timeline']

export type Work = { readonly mark: string; readonly needed: number; readonly took: number }

/**
 * What the main thread of a page had to do after each mark of the bench until the next one, in milliseconds, as the
 * browser itself recorded it: scripts, style, layout, paint and all else. `needed` is the thread's own time, `took` also
 * counts while other programs had its processor.
 */
export async function workAfterMarks(
  browser: Browser,
  page: Page,
  during: () => Promise<void>,
): Promise<Work[]> {
  await browser.startTracing(page, { categories })
  await during()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[]
  }
  const marks = traceEvents
    .filter(({ name }) => name === 'bench-event' || name === 'bench-delta')
    .toSorted((a, b) => a.ts - b.ts)
  const first = marks[0]
  if (!first) throw new Error('Nothing was appended.')
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && pid === first.pid && tid === first.tid,
  )
  return spans(marks, tasks)
}

/** Of the last mark nobody knows where its work ends, so it does not count. */
function spans(marks: readonly TraceEvent[], tasks: readonly TraceEvent[]): Work[] {
  return marks.slice(0, -1).map(({ name, ts: from }, index) => {
    const to = marks[index + 1]!.ts
    let took = 0
    let needed = 0
    for (const { ts, dur = 0, tdur = 0 } of tasks) {
      const inside = Math.max(0, Math.min(to, ts + dur) - Math.max(from, ts))
      took += inside
      if (inside > 0) needed += (inside / dur) * tdur
    }
    return { mark: name, needed: needed / 1000, took: took / 1000 }
  })
}
