import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { seed } from '../../bench/lib/seed.ts'
import { consoleFixture } from './console-fixture.ts'
import { conversation, eventually, openSession, say, shows } from './console-page.ts'

/** Tests the view of a growing conversation, frame by frame, in a real browser. */
const long = 'ses_long'
const { server, openTab, openSessionTab } = consoleFixture(async ({ folder, project }) => {
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true })
  await seed(data, [{ id: long, events: 2000 }], project)
})

const timeline = (page: Page) => page.getByTestId('timeline')
const isAtEnd = (page: Page) => timeline(page).getAttribute('data-at-end')

declare global {
  interface Window {
    /** The distance of the end below the visible part, after each frame. */
    endBelow: number[]
    stopLooking?: () => void
    left: number
  }
}

/** Records, after every frame, the distance of the end of the conversation below the visible part. */
function watchEnd(page: Page): Promise<void> {
  return page.evaluate(() => {
    const scroller = document.querySelector<HTMLElement>('[data-testid=timeline]')!
    window.endBelow = []
    const afterFrame = new MessageChannel()
    let looking = true
    afterFrame.port1.onmessage = () => {
      window.endBelow.push(scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop)
    }
    const look = () => {
      afterFrame.port2.postMessage(0)
      if (looking) requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
    window.stopLooking = () => {
      looking = false
    }
  })
}

/** Counts the times that the page reports that the reader is no longer at the end. */
async function watchLeaving(page: Page): Promise<() => Promise<number>> {
  await timeline(page).evaluate((scroller) => {
    window.left = 0
    const note = () => {
      if (scroller.getAttribute('data-at-end') === 'false') window.left++
    }
    new MutationObserver(note).observe(scroller, { attributeFilter: ['data-at-end'] })
  })
  return () => page.evaluate(() => window.left)
}

const turnsOf = async (id: string) =>
  (await server.call<{ turns: number }>(`/api/sessions/${id}?tail=0`)).turns

async function sayAndWait(page: Page, id: string, words: string): Promise<void> {
  const before = await turnsOf(id)
  await say(page, words)
  await eventually(() => turnsOf(id)).toBe(before + 1)
  await page.getByTestId('working').waitFor({ state: 'detached' })
}

const seenFrames = (page: Page) =>
  page.evaluate(() => {
    window.stopLooking?.()
    return window.endBelow
  })

describe('a conversation that grows', () => {
  it('is followed at its end in every frame, and rows do not overlap', async () => {
    const id = await server.session('markdown')
    const { page } = await openSessionTab(id, { viewport: { width: 1280, height: 600 } })
    await eventually(() => turnsOf(id)).toBe(1)
    await watchEnd(page)
    const left = await watchLeaving(page)
    for (const words of ['show markdown again', 'show tools', 'show markdown once more']) {
      await sayAndWait(page, id, words)
    }
    expect(await left()).toBe(0)
    await eventually(() => isAtEnd(page)).toBe('true')
    const frames = await seenFrames(page)
    expect(frames.length).toBeGreaterThan(0)
    expect(Math.max(...frames)).toBeLessThanOrEqual(2)
    expect(await overlaps(page)).toEqual([])
  })

  it('does not move a reader above its end, and is followed again when the reader returns', async () => {
    const id = await server.session('markdown')
    const { page } = await openSessionTab(id, { viewport: { width: 1280, height: 600 } })
    await eventually(() => turnsOf(id)).toBe(1)
    await say(page, 'show markdown again')
    await page.getByTestId('working').waitFor()
    await timeline(page).hover()
    await page.mouse.wheel(0, -300)
    await eventually(() => isAtEnd(page)).toBe('false')
    const place = await placeOfFirst(page, 1)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    expect(Math.abs((await place.now()) - place.before)).toBeLessThan(2)

    await page.mouse.wheel(0, 10_000)
    await eventually(() => isAtEnd(page)).toBe('true')
    await watchEnd(page)
    await sayAndWait(page, id, 'show markdown once more')
    expect(Math.max(...(await seenFrames(page)))).toBeLessThanOrEqual(2)
  })
})

describe('a conversation that is opened', () => {
  it.each([
    { name: 'wide', viewport: { width: 1280, height: 800 } },
    { name: 'narrow', viewport: { width: 390, height: 844 } },
  ])('is at its end, however tall its rows are, $name', async ({ viewport }) => {
    const id = await server.session(`Please look at this. ${'It goes on and on. '.repeat(100)}`)
    const { page: first } = await openTab({ load: false, viewport })
    await openSession(first, server, id)
    await first.getByTestId('working').waitFor({ state: 'detached' })
    const { page } = await openSessionTab(id, { viewport })
    await page.locator('.markdown').last().waitFor()
    await eventually(() => isAtEnd(page)).toBe('true')
    const below = () =>
      timeline(page).evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop)
    await eventually(below).toBeLessThanOrEqual(2)
  })
})

describe('a call that is expanded above the visible part', () => {
  it('does not move the visible part', async () => {
    const { page } = await openSessionTab(long, { viewport: { width: 1280, height: 600 } })
    await shows(page, /\w/)
    await eventually(() => isAtEnd(page)).toBe('true')
    await timeline(page).hover()
    const callAbove = (action?: 'click') =>
      timeline(page).evaluate((scroller, act) => {
        const { top } = scroller.getBoundingClientRect()
        const closed = [...scroller.querySelectorAll<HTMLElement>('article button[aria-expanded=false]')]
        const above = closed.filter((button) => button.getBoundingClientRect().bottom < top).at(-1)
        if (act === 'click') above?.click()
        return above?.closest<HTMLElement>('article')?.dataset.key
      }, action)
    await eventually(async () => {
      await page.mouse.wheel(0, -200)
      return (await isAtEnd(page)) === 'false' && (await callAbove())
    }).toBeTypeOf('string')
    // The position is measured when the reader no longer scrolls. While the reader scrolls up, the view may move,
    // because a correction would make it jump.
    const place = await placeOfFirst(page, 30)
    const opened = await callAbove('click')
    await page
      .locator(`article[data-key="${opened}"] button[aria-expanded=true]`)
      .waitFor({ state: 'attached' })
    expect(Math.abs((await place.now()) - place.before)).toBeLessThan(3)
    expect(await overlaps(page)).toEqual([])
  })
})

describe('older pages', () => {
  it('are added above the visible part, which does not move', async () => {
    const { page } = await openSessionTab(long, { viewport: { width: 1280, height: 600 } })
    await shows(page, /\w/)
    await eventually(() => isAtEnd(page)).toBe('true')
    const height = () => timeline(page).evaluate((element) => element.scrollHeight)
    await timeline(page).hover()
    for (let pages = 0; pages < 3; pages++) {
      const held = await holdOlderPages(page)
      await timeline(page).evaluate((element) => element.scrollTo(0, 300))
      const place = await placeOfFirst(page)
      const before = await height()
      held.release()
      await eventually(height).toBeGreaterThan(before)
      await eventually(() => place.now().then((now) => Math.abs(now - place.before))).toBeLessThan(3)
      expect(await overlaps(page)).toEqual([])
    }
  })
})

/** Holds requests for older pages until they are released. */
async function holdOlderPages(page: Page) {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(/\/events\?.*before=/, async (route) => {
    await promise
    await route.fallback()
  })
  return { release: resolve }
}

/**
 * The position of the first fully visible row once all rows are laid out, and a function that returns its current
 * position.
 */
async function placeOfFirst(page: Page, frames = 5) {
  const key = await timeline(page).evaluate(async (scroller, wanted) => {
    const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    const look = () => {
      const { top, bottom } = scroller.getBoundingClientRect()
      const rows = [...scroller.querySelectorAll<HTMLElement>('article[data-key]')]
      const tops = rows.map((row) => ({ key: row.dataset.key, top: row.getBoundingClientRect().top }))
      return tops.toSorted((a, b) => a.top - b.top).find((row) => row.top >= top && row.top < bottom)
    }
    let [first, still] = [look(), 0]
    while (!first || still < wanted) {
      await nextFrame()
      const now = look()
      still = now?.key === first?.key && now?.top === first?.top ? still + 1 : 0
      first = now
    }
    return first.key
  }, frames)
  const now = () =>
    page.locator(`article[data-key="${key}"]`).evaluate((row) => row.getBoundingClientRect().top)
  return { now, before: await now() }
}

/** Returns the rows that start before the end of the row above them. */
function overlaps(page: Page): Promise<string[]> {
  return conversation(page).evaluate((feed) => {
    const rows = [...feed.querySelectorAll<HTMLElement>('article[data-key]')].toSorted(
      (one, other) => Number(one.dataset.index) - Number(other.dataset.index),
    )
    return rows.flatMap((row, index) => {
      const above = rows[index - 1]?.getBoundingClientRect()
      const { top } = row.getBoundingClientRect()
      return above && above.bottom > top + 1 ? [`${row.dataset.key}: ${above.bottom} > ${top}`] : []
    })
  })
}

it('a reader at the end stays there when rows grow without being drawn again', async () => {
  const { page, consoleErrors } = await openSessionTab(long)
  await eventually(() => isAtEnd(page)).toBe('true')
  const below = () =>
    timeline(page).evaluate(
      ({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop,
    )
  await eventually(below).toBeLessThanOrEqual(1)
  const grow = (by: number) =>
    conversation(page).evaluate((rows: HTMLElement, px) => {
      rows.style.height = `${rows.getBoundingClientRect().height + px}px`
    }, by)
  await grow(400)
  await eventually(below).toBeLessThanOrEqual(1)
  expect(await isAtEnd(page)).toBe('true')
  expect(consoleErrors).toEqual([])
})
