import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { commit } from '../../tests/e2e/console-browser.ts'
import { newVisitor } from './console-page.ts'
import { type LongestTask, longestTask } from './console-trace.ts'
import { milliseconds, type Row } from './figure.ts'
import type { ParleyServer } from './servers.ts'
import { compare, type Pair } from './stats.ts'
import { text } from './words.ts'

type Sides = {
  readonly parley: ParleyServer
  readonly browser: Browser
  readonly quick: boolean
  readonly folder: string
}

const many = 400
const few = 4

/**
 * Measures the time until the file list and the first lines of a diff are shown beside the conversation.
 * Compares a diff of 400 files with a diff of 4.
 */
export async function changesShown(sides: Sides): Promise<Row[]> {
  const { quick } = sides
  const folders = {
    many: repository(join(sides.folder, 'many'), many),
    few: repository(join(sides.folder, 'few'), few),
  }
  await openChanges(sides, folders.few, few)
  const pairs: Pair[] = []
  const longest: LongestTask[] = []
  for (let round = 0; round < (quick ? 2 : 5); round++) {
    const ours = await openChanges(sides, folders.many, many)
    if (ours.longestTask) longest.push(ours.longestTask)
    pairs.push({ ours: ours.shownMs, bare: (await openChanges(sides, folders.few, few)).shownMs })
  }
  const time = compare(pairs)
  return [
    {
      figure: 'console: a diff of 400 files shown, against 4 files',
      value: milliseconds(time.ours),
      baseline: milliseconds(time.bare),
      ratio: time.ratio,
      data: time,
    },
    scrolled('400 files', longest),
  ]
}

/** A git repository with this many files that differ from the last commit, in two places each. */
function repository(folder: string, files: number): string {
  const write = (change: string) => {
    for (let index = 0; index < files; index++) {
      const place = join(folder, `src/part-${index % 20}`)
      mkdirSync(place, { recursive: true })
      const lines = text(index, 2_000).split('\n')
      const middle = [
        `export const size = ${index}${change}`,
        ...lines,
        `// the end of part ${index}${change}`,
      ]
      writeFileSync(join(place, `file-${index}.ts`), `${['', ...lines, ...middle, ...lines].join('\n')}\n`)
    }
  }
  write('')
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: folder })
  commit(folder, 'start')
  write('1')
  return folder
}

async function openChanges({ parley, browser }: Sides, folder: string, files: number) {
  await using undo = new AsyncDisposableStack()
  const context = await newVisitor(browser, parley)
  undo.defer(() => context.close())
  const page = await context.newPage()
  await page.goto(`${parley.url}/sessions/${await parley.createSession('bench', folder)}`)
  await page.getByRole('button', { name: /^Changes/ }).waitFor()
  const shownMs = await page.evaluate((count) => {
    const shown = window.bench.untilShown(() => {
      const panel = document.querySelector('aside[aria-label="Changes"]')
      const lines = panel?.querySelector('tr.added')?.getBoundingClientRect()
      return (
        panel?.querySelectorAll('section').length === count && lines !== undefined && lines.top < innerHeight
      )
    })
    document.querySelector<HTMLElement>('[data-opens=changes]')?.click()
    return shown
  }, files)
  return { shownMs, longestTask: files === many ? await scrollThrough(browser, page) : undefined }
}

/** Scrolls half a screen per frame, like a fast wheel, down to the last file. */
function scrollThrough(browser: Browser, page: Page): Promise<LongestTask> {
  return longestTask(browser, page, () =>
    page.evaluate(async () => {
      const list = document.querySelector('aside[aria-label="Changes"] > div.overflow-y-auto')
      if (!list) throw new Error('The list does not scroll.')
      const isAtEnd = () => list.scrollTop + list.clientHeight >= list.scrollHeight - 2
      while (!isAtEnd()) {
        list.scrollBy(0, list.clientHeight / 2)
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }
    }),
  )
}

/** The maximum of the longest tasks of several runs: its processor time, compared with the time that passed. */
export function scrolled(what: string, longest: readonly LongestTask[]): Row {
  const [thread, passed] = [
    Math.max(...longest.map((one) => one.thread)),
    Math.max(...longest.map((one) => one.passed)),
  ]
  return {
    figure: `console: longest task while scrolling through ${what}, against the time that passed meanwhile`,
    value: milliseconds(thread),
    baseline: milliseconds(passed),
    ratio: thread / passed,
    aim: '< 50 ms',
    met: thread < 50,
    data: { thread, passed },
  }
}
