import type { Browser, Page } from 'playwright-core'

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur?: number
  /** The part of `dur` in which the thread ran on a processor. */
  readonly tdur?: number
}

const categories = ['disabled-by-default-devtools.timeline', 'blink.user_timing', 'devtools.timeline']

/** The mark that aligns the clock of the trace with that of the page. */
const zero = 'bench-zero'

/**
 * The work of a page's main thread after a message from the server, in milliseconds of thread time, as the
 * browser recorded it: scripts, style, layout, paint and everything else. `drawn` is the work until the frame
 * that shows the message was committed, `all` the work until the next message arrived.
 */
export type Work = { readonly type: string; readonly drawn: number; readonly all: number }

export async function workAfterMarks(
  browser: Browser,
  page: Page,
  during: () => Promise<void>,
): Promise<Work[]> {
  const { first, thread, tasks } = await traced(browser, page, during)
  const { appended, from } = await page.evaluate(
    (name) => ({
      appended: window.bench.appended,
      from: performance.getEntriesByName(name).at(-1)?.startTime ?? 0,
    }),
    zero,
  )
  if (appended.length === 0) throw new Error('Nothing was appended.')
  const marks = appended.map(({ type, at }) => ({ type, ts: first.ts + (at - from) * 1000 }))
  const frames = thread.filter(({ name }) => name === 'Commit').map(({ ts }) => ts)
  return spans(
    marks,
    tasks,
    frames.toSorted((a, b) => a - b),
  )
}

/**
 * The longest task of a page's main thread, in milliseconds: the time in which the thread ran on a processor, and the
 * time that passed. On a busy machine, the thread waits for a processor in the middle of a task.
 */
export type LongestTask = { readonly thread: number; readonly passed: number }

export async function longestTask(
  browser: Browser,
  page: Page,
  during: () => Promise<void>,
): Promise<LongestTask> {
  const { tasks } = await traced(browser, page, during)
  return {
    thread: Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000,
    passed: Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000,
  }
}

/** Records what the main thread of a page does, from a mark on. */
async function traced(browser: Browser, page: Page, during: () => Promise<void>) {
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
  if (!first) throw new Error('The trace has no mark.')
  const onThread = ({ ph, pid, tid, ts }: TraceEvent) =>
    ph === 'X' && pid === first.pid && tid === first.tid && ts >= first.ts
  const thread = traceEvents.filter(onThread)
  const tasks = thread.filter(({ name }) => name === 'RunTask').toSorted((a, b) => a.ts - b.ts)
  return { first, thread, tasks }
}

type Marks = readonly { readonly type: string; readonly ts: number }[]

/**
 * The work after each mark until the next one. The last mark is left out, because the end of its work is
 * unknown.
 */
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
