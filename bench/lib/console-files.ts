import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { commit } from '../../tests/e2e/console-browser.ts'
import { scrolled } from './console-changes.ts'
import { newVisitor } from './console-page.ts'
import { type LongestTask, longestTask } from './console-trace.ts'
import { milliseconds, type Row } from './figure.ts'
import type { ParleyServer } from './servers.ts'
import { compare, inTurns } from './stats.ts'

type Sides = {
  readonly parley: ParleyServer
  readonly browser: Browser
  readonly quick: boolean
  readonly folder: string
}

const usual = { name: 'usual.ts', lines: 300 }
/** Two megabytes, the most that the server sends of a file. */
const large = { name: 'large.ts', lines: 40_000 }
type Shown = typeof usual

/**
 * Measures the time from the click on a file in the tree until its lines are shown. Compares a file of 300
 * lines with the bare request for it, and a file of two megabytes with the file of 300 lines.
 */
export async function filesShown({ parley, browser, quick, folder }: Sides): Promise<Row[]> {
  await using undo = new AsyncDisposableStack()
  const context = await newVisitor(browser, parley)
  undo.defer(() => context.close())
  const page = await context.newPage()
  const id = await parley.createSession('bench', repository(join(folder, 'files')))
  await page.goto(`${parley.url}/sessions/${id}`)
  await page.getByRole('button', { name: 'Files', exact: true }).click()
  await page.getByRole('treeitem', { name: usual.name }).waitFor()
  const request = async ({ name }: Shown) => {
    const begun = performance.now()
    await parley.request('GET', `/api/sessions/${id}/file?path=${name}&all=true`)
    return performance.now() - begun
  }
  for (const file of [usual, large, usual]) await openFile(page, file)
  const rounds = quick ? 4 : 15
  const first = compare(
    await inTurns(
      rounds,
      () => openFile(page, usual),
      () => request(usual),
    ),
  )
  const second = compare(
    await inTurns(
      rounds,
      () => openFile(page, large),
      () => openFile(page, usual),
    ),
  )
  await openFile(page, large, { stay: true })
  const worst = await scrollThrough(browser, page)
  return [
    {
      figure: 'console: a file of 300 lines shown, against its request alone',
      value: milliseconds(first.ours),
      baseline: milliseconds(first.bare),
      ratio: first.ratio,
      aim: '< 50 ms',
      met: first.ours < 50,
      data: first,
    },
    {
      figure: 'console: a file of 2 MB shown, against 300 lines',
      value: milliseconds(second.ours),
      baseline: milliseconds(second.bare),
      ratio: second.ratio,
      data: second,
    },
    scrolled('2 MB', [worst]),
  ]
}

function repository(folder: string): string {
  mkdirSync(folder, { recursive: true })
  for (const { name, lines } of [usual, large]) {
    const line = (_: unknown, index: number) =>
      `export const value${index} = compute(${index}, 'a part') // ok`
    writeFileSync(
      join(folder, name),
      `${Array.from({ length: lines }, line)
        .join('\n')
        .slice(0, 2 ** 21)}\n`,
    )
  }
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: folder })
  commit(folder, 'start')
  return folder
}

/** Opens a file from the tree, and returns to the tree unless `stay` is set. */
async function openFile(page: Page, { name }: Shown, { stay = false } = {}): Promise<number> {
  const entry = page.getByRole('treeitem', { name })
  await entry.waitFor()
  const shownMs = await entry.evaluate((row: HTMLElement, file) => {
    const shown = window.bench.untilShown(() => {
      const lines = document.querySelector(`[aria-label="Lines of ${file}"]`)
      const last = [...(lines?.querySelectorAll('.row code') ?? [])].at(10)?.getBoundingClientRect()
      return last !== undefined && last.height > 0 && last.top < innerHeight
    })
    row.click()
    return shown
  }, name)
  if (!stay) await page.getByRole('button', { name: 'All files' }).click()
  return shownMs
}

/** Scrolls half a screen per frame, like a fast wheel, through a part of the file. */
async function scrollThrough(browser: Browser, page: Page): Promise<LongestTask> {
  // The tasks of the opening are over once the page is idle.
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)))
  return longestTask(browser, page, () =>
    page.evaluate(async () => {
      const list = document.querySelector('.file-lines')
      if (!list) throw new Error('The lines do not scroll.')
      for (let frame = 0; frame < 300; frame++) {
        list.scrollBy(0, list.clientHeight / 2)
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }
      list.scrollTo(0, list.scrollHeight)
      await new Promise((resolve) => requestAnimationFrame(resolve))
    }),
  )
}
