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

/**
 * What the main thread of a page had to do after something came from the server, in milliseconds of the thread's own
 * time, as the browser itself recorded it: scripts, style, layout, paint and all else. `drawn`: until the frame that
 * shows it was handed to the display. `all`: until the next one came, with whatever else went on.
 */
export type Work = { readonly type: string; readonly drawn: number; readonly all: number }

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
  const onThread = ({ ph, pid, tid }: TraceEvent) => ph === 'X' && pid === first.pid && tid === first.tid
  const thread = traceEvents.filter(onThread)
  const tasks = thread.filter(({ name }) => name === 'RunTask').toSorted((a, b) => a.ts - b.ts)
  const frames = thread.filter(({ name }) => name === 'Commit').map(({ ts }) => ts)
  return spans(
    marks,
    tasks,
    frames.toSorted((a, b) => a - b),
  )
}

type Marks = readonly { readonly type: string; readonly ts: number }[]

/** Of the last mark nobody knows where its work ends, so it does not count. */
function spans(marks: Marks, tasks: readonly TraceEvent[], frames: readonly number[]): Work[] {
  return marks.slice(0, -1).map(({ type, ts: from }, index) => {
    const to = marks[index + 1]!.ts
    const frame = frames.find((ts) => ts > from && ts < to)
    const drawing = frame && tasks.find(({ ts, dur = 0 }) => ts <= frame && frame < ts + dur)
    const drawnAt = drawing ? drawing.ts + (drawing.dur ?? 0) : to
    return { type, drawn: workBetween(tasks, from, drawnAt), all: workBetween(tasks, from, to) }
  })
}

function workBetween(tasks: readonly TraceEvent[], from: number, to: number): number {
  let needed = 0
  for (const { ts, dur = 0, tdur = 0 } of tasks) {
    const inside = Math.max(0, Math.min(to, ts + dur) - Math.max(from, ts))
    if (inside > 0) needed += (inside / dur) * tdur
  }
  return needed / 1000
}
