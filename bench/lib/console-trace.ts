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

/** The mark by which the clock of the trace and that of the page are compared. */
const zero = 'bench-zero'

export type Work = { readonly type: string; readonly needed: number; readonly took: number }

/**
 * What the main thread of a page had to do after each thing that came from the server until the next one came, in
 * milliseconds, as the browser itself recorded it: scripts, style, layout, paint and all else. `needed` is the thread's
 * own time, `took` also counts while other programs had its processor.
 */
export async function workAfterMarks(
  browser: Browser,
  page: Page,
  during: () => Promise<void>,
): Promise<Work[]> {
  await browser.startTracing(page, { categories })
  await page.evaluate((name) => {
    window.bench.appended.length = 0
    performance.mark(name)
  }, zero)
  await during()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[]
  }
  const first = traceEvents.find(({ name }) => name === zero)
  const { appended, from } = await page.evaluate(
    (name) => ({
      appended: window.bench.appended,
      from: performance.getEntriesByName(name).at(-1)?.startTime ?? 0,
    }),
    zero,
  )
  if (!first || appended.length === 0) throw new Error('Nothing was appended.')
  const marks = appended.map(({ type, at }) => ({ type, ts: first.ts + (at - from) * 1000 }))
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && pid === first.pid && tid === first.tid,
  )
  return spans(marks, tasks)
}

/** Of the last mark nobody knows where its work ends, so it does not count. */
function spans(marks: readonly { type: string; ts: number }[], tasks: readonly TraceEvent[]): Work[] {
  return marks.slice(0, -1).map(({ type, ts: from }, index) => {
    const to = marks[index + 1]!.ts
    let took = 0
    let needed = 0
    for (const { ts, dur = 0, tdur = 0 } of tasks) {
      const inside = Math.max(0, Math.min(to, ts + dur) - Math.max(from, ts))
      took += inside
      if (inside > 0) needed += (inside / dur) * tdur
    }
    return { type, needed: needed / 1000, took: took / 1000 }
  })
}
