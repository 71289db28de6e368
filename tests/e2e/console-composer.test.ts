import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import {
  agentChip,
  boxOf,
  card,
  chooseAgent,
  chooseSetting,
  conversation,
  eventually,
  keptList,
  keptSeq,
  openSession,
  panel,
  prompt,
  say,
  settingsChip,
  shows,
} from './console-page.ts'
import { consoleBehindProxy, goOffline } from './console-proxy.ts'

/**
 * Tests that text and attachments are never lost and are reachable on every screen, and that a part that
 * cannot be loaded shows an error.
 */
const { server, openTab, openSessionTab, openThroughProxy } = consoleBehindProxy()

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)
/** Writes an image to the disk, which the browser reads with far less work than an image that a test sends to it. */
function picture(name: string, bytes = dot.length): string {
  const folder = join(server.folder, `pictures-${bytes}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), Buffer.concat([dot, Buffer.alloc(bytes - dot.length)]))
  return join(folder, name)
}
const chips = (page: Page) => page.getByRole('list', { name: 'Attached' })
const attach = (page: Page, ...files: string[]) => page.getByLabel('Files to attach').setInputFiles(files)
const queue = (page: Page) => page.getByRole('list', { name: 'Queue' })
const timeline = (page: Page) => page.getByTestId('timeline')
const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

/** The keys under which attachments of unsent prompts are stored. */
const keptParts = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<string[]>((resolve, reject) => {
        const opening = indexedDB.open('parley')
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const read = opening.result.transaction('lists').objectStore('lists').getAllKeys()
          read.onsuccess = () => {
            opening.result.close()
            resolve(read.result.map(String).filter((key) => key.startsWith('parts:cmd_')))
          }
        }
      }),
  )

const untilKeptOffline = (page: Page, id: string) => eventually(() => keptSeq(page, id)).toBeGreaterThan(0)

async function archive(id: string): Promise<void> {
  const response = await fetch(`${server.url}/api/sessions/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ archived: true }),
  })
  expect(response.status).toBe(200)
}

const promptsOf = async (id: string) => {
  const { blocks } = await server.call<{ blocks: { type: string; parts?: { type: string }[] }[] }>(
    `/api/sessions/${id}?tail=100`,
  )
  return blocks.filter(({ type }) => type === 'prompt').map(({ parts }) => parts?.map(({ type }) => type))
}

describe('a cancelled turn', () => {
  const paused = (page: Page) => queue(page).getByText(/^Stopped\. \d prompts? paused\.$/)
  const stopWithTwo = async (page: Page) => {
    const id = await server.session('hang')
    await openSession(page, server, id)
    await shows(page, /do nothing now/)
    for (const words of ['think first', 'think second']) {
      await say(page, words)
      await queue(page).getByText(words).waitFor()
    }
    await page.getByRole('button', { name: 'Stop (Esc)' }).click()
    await shows(page, 'Stopped')
    await paused(page).waitFor()
    return id
  }
  const rows = (page: Page) => queue(page).getByRole('listitem').allTextContents()

  it('pauses the queue, across a reload too, until it is resumed', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await stopWithTwo(page)
    await page.reload()
    await eventually(() => rows(page)).toEqual([
      'Stopped. 2 prompts paused. Resume',
      'Pausedthink first',
      'Pausedthink second',
    ])
    await page.getByRole('link', { name: /hang/ }).first().getByText('2 paused').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await queue(page).getByRole('button', { name: 'Resume' }).click()
    await queue(page).waitFor({ state: 'detached' })
    await eventually(() =>
      conversation(page)
        .getByText(/second way is better/)
        .count(),
    ).toBe(2)
    expect(consoleErrors).toEqual([])
  })

  it('lets a new prompt run at once; the paused ones stay until they are withdrawn', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await stopWithTwo(page)
    await say(page, 'show markdown')
    await conversation(page).getByRole('heading').first().waitFor()
    expect((await rows(page)).slice(1)).toEqual(['Pausedthink first', 'Pausedthink second'])
    for (const left of [1, 0]) {
      await page.getByRole('button', { name: 'Withdraw queued prompt 1' }).click()
      await eventually(() => queue(page).getByText('Paused', { exact: true }).count()).toBe(left)
    }
    await queue(page).waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })

  it('leaves an edited paused prompt paused', async () => {
    const { page } = await openTab({ load: false })
    await stopWithTwo(page)
    await page.getByRole('button', { name: 'Edit queued prompt 2' }).click()
    await eventually(() => prompt(page).inputValue()).toBe('think second')
    await prompt(page).fill('think anew')
    await page.getByRole('button', { name: 'Queue', exact: true }).click()
    await eventually(() => rows(page)).toEqual([
      'Stopped. 2 prompts paused. Resume',
      'Pausedthink first',
      'Pausedthink anew',
    ])
  })

  it('shows no pause if nothing is queued', async () => {
    const { page } = await openSessionTab(await server.session('hang'))
    await shows(page, /do nothing now/)
    await prompt(page).press('Escape')
    await shows(page, 'Stopped')
    expect(await queue(page).count()).toBe(0)
  })
})

describe('a queued prompt that is edited', () => {
  const waiting = (page: Page) => queue(page).getByRole('listitem').allTextContents()
  const queueThree = async (page: Page) => {
    await openSession(page, server, await server.session('hang'))
    await shows(page, /do nothing now/)
    for (const words of ['think first', 'think second', 'think third']) {
      await say(page, words)
      await queue(page).getByText(words).waitFor()
    }
  }
  const edit = async (page: Page, place: number, words: string) => {
    await page.getByRole('button', { name: `Edit queued prompt ${place}` }).click()
    await eventually(() => prompt(page).inputValue()).toBe(words)
  }

  it('returns to its place in the queue', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await queueThree(page)
    await edit(page, 1, 'think first')
    await page.reload()
    await prompt(page).press('End')
    await page.keyboard.type(' again')
    await page.keyboard.press('Enter')
    await eventually(() => waiting(page)).toEqual([
      'Nextthink first again',
      '2.think second',
      '3.think third',
    ])
    await say(page, 'think last')
    await eventually(async () => (await waiting(page)).at(-1)).toBe('4.think last')
    expect(consoleErrors).toEqual([])
  })

  it('returns before the next queued prompt, but a prompt written from scratch has no place', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await queueThree(page)
    await edit(page, 1, 'think first')
    await page.getByRole('button', { name: 'Withdraw queued prompt 1' }).click()
    await eventually(() => waiting(page)).toEqual(['Nextthink third'])
    await prompt(page).press('Enter')
    await eventually(() => waiting(page)).toEqual(['Nextthink first', '2.think third'])
    await edit(page, 1, 'think first')
    await prompt(page).fill('')
    await say(page, 'think anew')
    await queue(page).getByText('think anew').waitFor()
    await eventually(() => waiting(page)).toEqual(['Nextthink third', '2.think anew'])
    expect(consoleErrors).toEqual([])
  })
})

describe('a prompt that is refused', () => {
  it('comes back whole, with its images, and says why', async () => {
    const id = await server.session()
    const { page, consoleErrors } = await openSessionTab(id)
    await attach(page, picture('cat.png'), picture('dog.png'))
    await chips(page).getByText('dog.png').waitFor()
    await prompt(page).fill('what do you see')
    await archive(id)
    await prompt(page).press('Enter')
    const why = page.getByRole('alert').getByText(/^Not sent: .*archived/)
    await why.waitFor()
    expect(await prompt(page).inputValue()).toBe('what do you see')
    await eventually(() => chips(page).getByRole('listitem').allTextContents()).toEqual([
      'cat.png',
      'dog.png',
    ])
    expect(await promptsOf(id)).toEqual([])
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('alert').getByRole('button', { name: 'Dismiss' }).click()
    await why.waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })

  it('neither replaces text that was written meanwhile nor is discarded because of it', async () => {
    const id = await server.session()
    const { page } = await openSessionTab(id)
    // The image is large enough to be sent over HTTP, where it can be delayed.
    await attach(page, picture('cat.png', 200_000))
    await chips(page).getByText('cat.png').waitFor()
    await archive(id)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/\/commands$/, async (route) => {
      await held
      await route.continue()
    })
    await prompt(page).fill('the first')
    await prompt(page).press('Enter')
    await page.getByTestId('outgoing').waitFor()
    await attach(page, picture('dog.png'))
    await prompt(page).fill('the second')
    release()
    await page
      .getByRole('alert')
      .getByText(/^Not sent/)
      .waitFor()
    await eventually(() => prompt(page).inputValue()).toBe('the first\n\nthe second')
    await eventually(() => chips(page).getByRole('listitem').allTextContents()).toEqual([
      'cat.png',
      'dog.png',
    ])
  })

  it("takes no attachment beyond the server's limit, and says so at once", async () => {
    const { page } = await openSessionTab(await server.session())
    await attach(page, picture('one.png', 5_000_000), picture('two.png', 5_000_000), picture('three.png'))
    await page.getByRole('status').getByText('two.png does not fit').waitFor()
    await eventually(() => chips(page).getByRole('listitem').allTextContents()).toEqual([
      'one.png',
      'three.png',
    ])
  })
})

describe('an attachment', () => {
  it('stays with its session while another one is shown', async () => {
    const { page } = await openTab({ load: false })
    const [one, other] = [await server.session(), await server.session()]
    await openSession(page, server, one)
    await attach(page, picture('cat.png'))
    await chips(page).getByText('cat.png').waitFor()
    await prompt(page).fill('look')
    const openHere = (id: string) =>
      page.evaluate((to) => {
        history.pushState(null, '', to)
        dispatchEvent(new PopStateEvent('popstate'))
      }, `/sessions/${id}`)
    await page.getByRole('link', { name: /^Inbox/ }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await openHere(other)
    await eventually(() => prompt(page).inputValue()).toBe('')
    expect(await chips(page).count()).toBe(0)
    await openHere(one)
    await chips(page).getByText('cat.png').waitFor()
    expect(await prompt(page).inputValue()).toBe('look')
    await prompt(page).press('Enter')
    await conversation(page).getByRole('img', { name: 'cat.png' }).waitFor()
    expect(await chips(page).count()).toBe(0)
  })

  it('survives a reload like the text, until it is sent', async () => {
    const id = await server.session()
    const { page } = await openSessionTab(id)
    await attach(page, picture('cat.png'))
    await chips(page).getByText('cat.png').waitFor()
    await eventually(
      async () => ((await keptList(page, `parts:${id}`)) as { parts?: [] })?.parts?.length,
    ).toBe(1)
    await page.reload()
    await chips(page).getByText('cat.png').waitFor()
    await say(page, 'think about it')
    await conversation(page).getByRole('img', { name: 'cat.png' }).waitFor()
    await eventually(() => keptList(page, `parts:${id}`)).toBeUndefined()
    await page.reload()
    await conversation(page).getByRole('img', { name: 'cat.png' }).waitFor()
    expect(await chips(page).count()).toBe(0)
  })

  it('survives a reload while it is being sent, however large it is', async () => {
    const { proxy, page, context, url } = await openThroughProxy()
    const id = await server.session()
    await openSession(page, { url }, id)
    await untilKeptOffline(page, id)
    await goOffline({ proxy, page, context })
    await attach(page, picture('large.png', 6_000_000))
    await chips(page).getByText('large.png').waitFor()
    await say(page, 'show markdown of it')
    const outgoing = page.getByTestId('outgoing')
    await outgoing.getByText('1 attachment').waitFor()
    await outgoing.getByText('Not sent yet: no connection').waitFor()
    await eventually(async () => (await keptParts(page)).length).toBe(1)
    await page.reload()
    await outgoing.getByText('show markdown of it').waitFor()
    await proxy.open()
    await context.setOffline(false)
    await outgoing.waitFor({ state: 'detached' })
    await eventually(() => promptsOf(id)).toEqual([['text', 'image']])
    await eventually(() => keptParts(page)).toEqual([])
  })

  it('comes back with a queued prompt that is edited, which can be typed into at once', async () => {
    const id = await server.session('hang')
    const { page } = await openSessionTab(id)
    await shows(page, /do nothing now/)
    await attach(page, picture('cat.png'))
    await chips(page).getByText('cat.png').waitFor()
    await say(page, 'look at this picture')
    await queue(page).getByText('look at this picture').waitFor()
    await page.getByRole('button', { name: 'Edit queued prompt 1' }).click()
    await chips(page).getByText('cat.png').waitFor()
    expect(await prompt(page).inputValue()).toBe('look at this picture')
    await eventually(() => focused(page)).toBe('Prompt')
    await page.keyboard.type(' well')
    await page.keyboard.press('Enter')
    await queue(page).getByText('look at this picture well').waitFor()
    expect(await chips(page).count()).toBe(0)
    await eventually(async () => {
      const { queue: queued } = await server.call<{ queue: { parts: { type: string }[] }[] }>(
        `/api/sessions/${id}?tail=0`,
      )
      return queued.map(({ parts }) => parts.map(({ type }) => type))
    }).toEqual([['text', 'image']])
  })

  /** Simulates a file that is dragged in from outside, as the browser does. True if the page accepted it. */
  const drop = (page: Page, selector: string, type: string) =>
    page.evaluate(
      ([at, name]) => {
        const data = new DataTransfer()
        data.items.add(new File(['words'], 'notes.txt', { type: 'text/plain' }))
        const event = new DragEvent(name!, { dataTransfer: data, bubbles: true, cancelable: true })
        document.querySelector(at!)!.dispatchEvent(event)
        return event.defaultPrevented
      },
      [selector, type],
    )

  it('can be dropped anywhere, and the browser never opens it in place of the page', async () => {
    const id = await server.session()
    const { page, consoleErrors } = await openSessionTab(id)
    expect(await drop(page, '[data-testid=timeline]', 'dragover')).toBe(true)
    await page.getByTestId('drop-here').waitFor()
    expect(await drop(page, '[data-testid=timeline]', 'drop')).toBe(true)
    await page.getByTestId('drop-here').waitFor({ state: 'detached' })
    await chips(page).getByText('notes.txt').waitFor()
    expect(await drop(page, 'textarea', 'drop')).toBe(true)
    await eventually(() => chips(page).getByRole('listitem').count()).toBe(2)
    await say(page, 'read them')
    await eventually(() => promptsOf(id)).toEqual([['text', 'file', 'file']])
    await page.goto(`${server.url}/inbox`)
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    expect(await drop(page, 'main', 'dragover')).toBe(true)
    expect(await drop(page, 'main', 'drop')).toBe(true)
    expect(consoleErrors).toEqual([])
  })
})

describe('the first prompt of a new session', () => {
  const kept = async (page: Page) => ((await keptList(page, 'parts:new')) as { parts?: [] })?.parts?.length

  it('names files of the folder, takes images, and survives interruptions before it is sent', async () => {
    const folder = join(server.folder, 'first-prompt')
    mkdirSync(join(folder, 'src'), { recursive: true })
    writeFileSync(join(folder, 'src', 'greeting.ts'), '')
    const { page, consoleErrors } = await openTab()
    await chooseAgent(page, 'Demo')
    await page.getByRole('combobox', { name: 'Folder' }).fill(folder)
    await chooseSetting(page, 'Read-only')
    await prompt(page).fill('look at @greet')
    await page
      .getByRole('listbox', { name: 'Files' })
      .getByRole('option', { name: 'src/greeting.ts' })
      .waitFor()
    await page.keyboard.press('Enter')
    await eventually(() => prompt(page).inputValue()).toBe('look at @src/greeting.ts ')
    await attach(page, picture('cat.png'))
    await chips(page).getByText('cat.png').waitFor()
    await eventually(() => kept(page)).toBe(1)
    await page.reload()
    await chips(page).getByText('cat.png').waitFor()
    expect(await prompt(page).inputValue()).toBe('look at @src/greeting.ts ')
    expect(await focused(page)).toBe('Prompt')
    await page.keyboard.type('and think')
    expect(await page.getByRole('combobox', { name: 'Folder' }).inputValue()).toBe(folder)
    expect(await settingsChip(page).textContent()).toMatch(/^Mode: Read-only/)
    expect(await agentChip(page).textContent()).toBe('Agent: Demo')
    await page.getByRole('combobox', { name: 'Folder' }).fill('first-prompt')
    await prompt(page).press('Enter')
    await page.getByText('Enter a full path').waitFor()
    await page.getByRole('combobox', { name: 'Folder' }).fill(join(folder, 'nowhere'))
    await prompt(page).press('Enter')
    await page.getByText(/does not exist/).waitFor()
    expect(await chips(page).getByRole('listitem').count()).toBe(1)
    await page.getByRole('combobox', { name: 'Folder' }).fill(folder)
    await prompt(page).press('Enter')
    await page.waitForURL(/\/sessions\//)
    await conversation(page).getByRole('img', { name: 'cat.png' }).waitFor()
    const id = page.url().split('/').at(-1) ?? ''
    await eventually(() => promptsOf(id)).toEqual([['text', 'image']])
    await eventually(() => kept(page)).toBeUndefined()
    await page.goto(`${server.url}/new`)
    await agentChip(page).waitFor()
    expect(await prompt(page).inputValue()).toBe('')
    expect(await chips(page).count()).toBe(0)
    expect(await settingsChip(page).textContent()).toMatch(/^Mode: Ask/)
    expect(consoleErrors).toEqual([])
  })

  it('offers files only while it has the focus', async () => {
    const { page, consoleErrors } = await openTab()
    await page.getByRole('combobox', { name: 'Folder' }).fill(server.project)
    writeFileSync(join(server.project, 'greeting.ts'), '')
    await prompt(page).fill('@greet')
    const files = page.getByRole('listbox', { name: 'Files' })
    await files.waitFor()
    await agentChip(page).focus()
    await files.waitFor({ state: 'detached' })
    await prompt(page).focus()
    await files.getByRole('option', { name: 'greeting.ts' }).click()
    await eventually(() => prompt(page).inputValue()).toBe('@greeting.ts ')
    expect(await focused(page)).toBe('Prompt')
    expect(consoleErrors).toEqual([])
  })

  it('is kept if it was edited while the session was created', async () => {
    const { page } = await openTab()
    await chooseAgent(page, 'Demo')
    const held = Promise.withResolvers<void>()
    await page.route(/\/api\/sessions$/, async (route) => {
      if (route.request().method() === 'POST') await held.promise
      await route.continue()
    })
    await prompt(page).fill('think')
    await prompt(page).press('Enter')
    await page.keyboard.type(' twice')
    held.resolve()
    await page.waitForURL(/\/sessions\//)
    await shows(page, /second way is better/)
    await page.goto(`${server.url}/new`)
    await eventually(() => prompt(page).inputValue()).toBe('think twice')
  })
})

describe('a small screen', () => {
  const shapes = [
    { name: 'a phone with its keyboard up', width: 390, height: 508 },
    { name: 'a phone on its side', width: 844, height: 390 },
  ]
  const asks = [
    { words: 'ask me', button: 'Answer' },
    { words: 'make a plan', button: 'Approve the plan' },
    { words: 'edit a file', button: 'Allow once' },
  ]
  it.each(shapes)('shows the prompt, the request and part of the conversation: $name', async (shape) => {
    const { width, height } = shape
    const { page } = await openTab({ load: false, ...phone, viewport: { width, height } })
    for (const { words, button } of asks) {
      await openSession(page, server, await server.session(words))
      await card(page).waitFor()
      await prompt(page).fill('and then')
      const send = page.getByRole('button', { name: 'Queue' })
      await send.waitFor()
      const written = await boxOf(prompt(page))
      const sent = await boxOf(send)
      expect(written.top).toBeGreaterThan(0)
      expect(sent.bottom).toBeLessThanOrEqual(height)
      expect(sent.right).toBeLessThanOrEqual(width)
      expect((await boxOf(timeline(page))).height).toBeGreaterThanOrEqual(40)
      const answer = card(page).getByRole('button', { name: button })
      await answer.scrollIntoViewIfNeeded()
      const asked = await boxOf(answer)
      expect(asked.top).toBeGreaterThanOrEqual((await boxOf(timeline(page))).bottom - 1)
      expect(asked.bottom).toBeLessThanOrEqual(written.top)
      await prompt(page).fill('')
    }
  })

  it('leaves a third of its height to the conversation at 200 % zoom, and shows every question of a card', async () => {
    const { page } = await openSessionTab(await server.session('ask me something'), {
      viewport: { width: 640, height: 430 },
    })
    await card(page).waitFor()
    expect((await boxOf(timeline(page))).height).toBeGreaterThanOrEqual(100)
    await card(page).getByText('1 of 2').waitFor()
    // The card has one scroll region, without another region inside it.
    const asked = card(page).locator('[data-asked]')
    expect(
      await asked.evaluate((element) => element.scrollHeight - element.clientHeight),
    ).toBeLessThanOrEqual(1)
    const frame = await boxOf(page.getByTestId('requests'))
    for (const part of [card(page).getByText('2 of 2'), card(page).getByRole('button', { name: 'Answer' })]) {
      await part.scrollIntoViewIfNeeded()
      const { top, bottom } = await boxOf(part)
      expect(top).toBeGreaterThanOrEqual(frame.top - 1)
      expect(bottom).toBeLessThanOrEqual(frame.bottom + 1)
    }
  })

  it('has one row for everything below the text while the on-screen keyboard is open', async () => {
    const { page } = await openSessionTab(await server.session('usage'), {
      ...phone,
      viewport: { width: 390, height: 508 },
    })
    await page.getByTestId('meter').waitFor()
    const rows = [
      page.getByRole('button', { name: 'Attach pictures or files' }),
      settingsChip(page),
      page.getByTestId('meter'),
      page.getByRole('button', { name: /^(Send|Queue)$/ }),
    ]
    const middles = await Promise.all(
      rows.map(async (row) => {
        const { top, bottom } = await boxOf(row)
        return Math.round((top + bottom) / 2)
      }),
    )
    expect(Math.max(...middles) - Math.min(...middles)).toBeLessThanOrEqual(2)
  })
})

describe('the meter', () => {
  it('is fully visible beside a panel', async () => {
    const { page } = await openSessionTab(await server.session('usage'), {
      viewport: { width: 1280, height: 800 },
    })
    const meter = page.getByTestId('meter')
    await eventually(() => meter.textContent()).toMatch(/24%.*\$0\.12/)
    await page.getByRole('button', { name: /^Changes/ }).click()
    await panel(page, 'Changes').waitFor()
    /** True if every part of the meter is visible where a pointer can hit it. */
    const isWhole = () =>
      meter.evaluate((element) =>
        [...element.querySelectorAll('span')].every((part) => {
          const { left, right, top, bottom } = part.getBoundingClientRect()
          const ends = [
            document.elementFromPoint(left + 1, (top + bottom) / 2),
            document.elementFromPoint(right - 1, (top + bottom) / 2),
          ]
          return part.className === 'sr-only' || ends.every((end) => end !== null && element.contains(end))
        }),
      )
    await eventually(isWhole).toBe(true)
  })
})
