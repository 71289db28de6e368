import type { Browser, Page } from 'playwright-core'
import { ConsoleServer, launchBrowser } from '../tests/e2e/console-browser.ts'
import { changesShown } from './lib/console-changes.ts'
import { filesShown } from './lib/console-files.ts'
import {
  type Keystroke,
  loadWhole,
  newVisitor,
  type Opened,
  openSession,
  untilKept,
} from './lib/console-page.ts'
import { type Work, workAfterMarks } from './lib/console-trace.ts'
import { typedAlone, typedInto } from './lib/console-typing.ts'
import { type Figure, mebibytes, milliseconds, type Row } from './lib/figure.ts'
import { seed } from './lib/seed.ts'
import { type ParleyServer, promptCommand, startParleyServer } from './lib/servers.ts'
import { compare, median, type Pair, percentile } from './lib/stats.ts'

const large = { id: 'ses_large', events: 10_000 }
const small = { id: 'ses_small', events: 100 }
/** Outputs per second during the measurement: few enough that the page draws each output separately. */
const rate = 30

type Sides = {
  readonly parley: ParleyServer
  readonly browser: Browser
  readonly quick: boolean
  readonly folder: string
}

/**
 * The console in a real Chromium on the real server: a session of 10,000 events compared with a session of
 * 100.
 */
export const consoleInBrowser: Figure = {
  name: 'console',
  async measure({ quick, folder }) {
    ConsoleServer.build()
    await seed(folder, [large, small], folder)
    await using undo = new AsyncDisposableStack()
    const parley = await startParleyServer(folder)
    undo.defer(() => parley.remote.stop())
    const browser = await launchBrowser()
    undo.defer(() => browser.close())
    const sides: Sides = { parley, browser, quick, folder }
    return [
      ...(await opened(sides)),
      ...(await atWork(sides)),
      ...(await changesShown(sides)),
      ...(await filesShown(sides)),
      await scripted(sides),
    ]
  },
}

/** Opens each session in a browser that has never loaded the page, then again in the same browser. */
async function opened({ parley, browser, quick }: Sides): Promise<Row[]> {
  const open = async (id: string) => {
    await using undo = new AsyncDisposableStack()
    const context = await newVisitor(browser, parley)
    undo.defer(() => context.close())
    const page = await context.newPage()
    const cold = await openSession(page, parley, id)
    await untilKept(page, id)
    await openSession(page, parley, id)
    const warm = await openSession(page, parley, id)
    await context.setOffline(true)
    return { cold, warm, offline: await openSession(page, parley, id) }
  }
  await open(small.id)
  const rounds: { ours: Awaited<ReturnType<typeof open>>; bare: Awaited<ReturnType<typeof open>> }[] = []
  for (let round = 0; round < (quick ? 3 : 9); round++) {
    rounds.push({ ours: await open(large.id), bare: await open(small.id) })
  }
  const pairs = (of: 'cold' | 'warm' | 'offline', what: keyof Opened): Pair[] =>
    rounds.map(({ ours, bare }) => ({ ours: ours[of][what], bare: bare[of][what] }))
  const row = (figure: string, of: 'cold' | 'warm' | 'offline', most: number): Row => {
    const time = compare(pairs(of, 'readable'))
    const formatted = median(pairs(of, 'formatted').map(({ ours }) => ours))
    return {
      figure,
      value: milliseconds(time.ours),
      baseline: milliseconds(time.bare),
      ratio: time.ratio,
      aim: `< ${most} ms`,
      met: time.ours < most,
      data: { ...time, formatted },
    }
  }
  return [
    row('console: the end of 10,000 events readable, cold, against 100 events', 'cold', 1000),
    row('console: the same from the cache', 'warm', 300),
    row('console: the same from the cache, offline', 'offline', 300),
  ]
}

type AtWork = {
  readonly work: readonly Work[]
  readonly keystrokes: readonly Keystroke[]
  readonly heap: number
  readonly kept: number
}

/** Measures the page with all events of the session loaded, while the agent works. */
async function atWork(sides: Sides): Promise<Row[]> {
  const ours = await measureAtWork(sides, large)
  const bare = await measureAtWork(sides, small)
  const alone = await typedAlone(sides.browser, sides.quick ? 40 : 150)
  const laidOut = p95s(ours.keystrokes, alone, (key) => key.laidOut)
  const painted = p95s(ours.keystrokes, alone, (key) => key.painted)
  return [
    ...appended('a streamed piece', 'delta', [ours, bare]),
    ...appended('a recorded event', 'event', [ours, bare]),
    {
      figure:
        'console: time from a key to its letter with 10,000 events, streaming, p95, against an empty page',
      ...laidOut,
      aim: '< 16 ms',
      met: laidOut.data.ours < 16,
    },
    { figure: 'console: the same until it is painted, including the wait for the display', ...painted },
    {
      figure: 'console: peak heap with 10,000 events, streaming, against 100 events',
      value: mebibytes(ours.heap),
      baseline: mebibytes(bare.heap),
      ratio: ours.heap / bare.heap,
      aim: '< 300 MiB',
      met: ours.heap < 300 * 2 ** 20,
      data: { ours: ours.heap, bare: bare.heap, afterCollection: ours.kept },
    },
  ]
}

function appended(what: string, type: string, [ours, bare]: readonly [AtWork, AtWork]): Row[] {
  const of = ({ work }: AtWork) => work.filter((one) => one.type === type)
  const drawn = p95s(of(ours), of(bare), (one) => one.drawn)
  const all = p95s(of(ours), of(bare), (one) => one.all)
  return [
    {
      figure: `console: main thread until ${what} is drawn with 10,000 events, p95, against 100 events`,
      ...drawn,
      aim: '< 8 ms',
      met: drawn.data.ours < 8,
      data: { ...drawn.data, count: of(ours).length },
    },
    { figure: 'console: the same, and all other work until the next one arrives', ...all },
  ]
}

function p95s<One>(ours: readonly One[], bare: readonly One[], of: (one: One) => number) {
  const [mine, other] = [ours.map(of), bare.map(of)]
  const [high, low] = [percentile(mine, 95), percentile(other, 95)]
  return {
    value: milliseconds(high),
    baseline: milliseconds(low),
    ratio: high / low,
    data: { ours: high, bare: low, medianOurs: median(mine), medianBare: median(other) },
  }
}

async function measureAtWork(sides: Sides, session: typeof large): Promise<AtWork> {
  const { browser, parley, quick } = sides
  await using undo = new AsyncDisposableStack()
  const context = await newVisitor(browser, parley)
  undo.defer(() => context.close())
  const page = await context.newPage()
  await openSession(page, parley, session.id)
  await loadWhole(page, session.id)
  const outputs = quick ? 150 : 600
  // The browser compiles scripts while they run, so the page works for a while before the measurement.
  await work(sides, page, { id: session.id, count: outputs / 2 })
  const { result, most, kept } = await heapWatched(page, async () => {
    const traced = await workAfterMarks(browser, page, () =>
      work(sides, page, { id: session.id, count: outputs }),
    )
    const count = quick ? 40 : 150
    let keystrokes: Keystroke[] = []
    await work(sides, page, { id: session.id, count: count * 4 }, async () => {
      keystrokes = await typedInto(page, page.getByRole('combobox', { name: 'Prompt' }), count)
    })
    return { work: traced, keystrokes }
  })
  return { ...result, heap: most, kept }
}

/** Lets the agent work until its outputs are done and the page shows them. */
async function work(
  { parley }: Sides,
  page: Page,
  { id, count }: { id: string; count: number },
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  await parley.request('POST', `/api/sessions/${id}/commands`, promptCommand({ do: 'work', count, rate }))
  await page.getByTestId('working').waitFor()
  await meanwhile()
  await page.getByTestId('working').waitFor({ state: 'detached', timeout: 120_000 })
}

async function heapWatched<Result>(page: Page, during: () => Promise<Result>) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable')
  const used = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value
  }
  let most = await used()
  const look = async () => {
    most = Math.max(most, await used())
  }
  const timer = setInterval(() => void look().catch(() => undefined), 1000)
  const result = await during().finally(() => clearInterval(timer))
  await devtools.send('HeapProfiler.collectGarbage')
  return { result, most, kept: await used() }
}

/** The bytes that are transferred before the person can write a prompt. */
async function scripted({ browser, parley }: Sides): Promise<Row> {
  const context = await newVisitor(browser, parley)
  const page = await context.newPage()
  const sizes: Promise<{ sent: number; plain: number }>[] = []
  page.on('requestfinished', (request) => {
    if (!request.url().endsWith('.js')) return
    const measure = async () => {
      const plain = (await (await request.response())!.body()).length
      return { sent: (await request.sizes()).responseBodySize, plain }
    }
    sizes.push(measure())
  })
  await page.goto(`${parley.url}/new`)
  await page.getByRole('combobox', { name: 'Prompt' }).fill('ready to be sent')
  const all = await Promise.all(sizes)
  const sent = all.reduce((sum, one) => sum + one.sent, 0)
  const plain = all.reduce((sum, one) => sum + one.plain, 0)
  await context.close()
  return {
    figure: 'console: script fetched before the first message, against its uncompressed size',
    value: kilobytes(sent),
    baseline: kilobytes(plain),
    ratio: sent / plain,
    aim: '<= 170 KB',
    met: sent > 0 && sent <= 170_000,
    data: { sent, plain, files: all.length },
  }
}

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`
