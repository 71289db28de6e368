import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { testAgentsFolder } from '../../packages/server/src/testing/agents-folder.ts'
import type { ModelServer } from '../../packages/server/src/testing/model-server.ts'
import type { UiMessage } from '../../packages/server/src/transcripts/ui-message.ts'
import { buildPage, PageServer, type Sdk } from './chat-pages-server.ts'
import { ConsoleServer, closeContexts, listen, sharedBrowser } from './console-browser.ts'
import { eventually } from './console-page.ts'
import { withoutCursors } from './without-cursors.ts'

export type PageAgent = 'claude' | 'opencode'

/** Third-party pages in a real browser, on the real program with real agents; only their model is scripted. */
export class ChatPages implements AsyncDisposable {
  readonly parley = new ConsoleServer()
  readonly #undo = new AsyncDisposableStack()
  readonly #pages = new Map<Sdk, PageServer>()
  /** The source files of each page, without third-party packages. */
  readonly madeFrom: string[][] = []
  agents!: AgentHome
  browser!: Browser
  #chats = 0

  static async start(script: (model: ModelServer) => void): Promise<ChatPages> {
    const pages = new ChatPages()
    try {
      await pages.#start(script)
    } catch (error) {
      await pages[Symbol.asyncDispose]()
      throw error
    }
    return pages
  }

  async #start(script: (model: ModelServer) => void): Promise<void> {
    const { parley } = this
    this.agents = this.#undo.use(await AgentHome.open({ prepare: script }))
    this.#undo.defer(() => parley.dispose())
    for (const sdk of [6, 7] as const) {
      const folder = join(parley.folder, `page-${sdk}`)
      this.madeFrom.push(await buildPage(sdk, folder))
      this.#pages.set(sdk, this.#undo.use(await PageServer.start(folder)))
    }
    await this.#startParley()
    this.browser = await sharedBrowser()
    this.#undo.defer(() => closeContexts(this.browser))
  }

  async #startParley(): Promise<void> {
    const { parley } = this
    const data = join(parley.folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    symlinkSync(testAgentsFolder(), join(data, 'agents'))
    const allowOrigins = [...this.#pages.values()].map(({ origin }) => origin)
    writeFileSync(join(data, 'config.json'), JSON.stringify({ allowOrigins, limits: { maxConnections: 3 } }))
    parley.environment = { ...this.agents.env('claude'), ...this.agents.env('opencode') }
    await parley.start()
    for (const page of this.#pages.values()) page.parley = { port: parley.port, token: parley.token }
  }

  get model(): ModelServer {
    return this.agents.model
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#undo.disposeAsync()
  }

  /** Opens a new chat in a separate browser context. */
  async open(sdk: Sdk, agent: PageAgent): Promise<ChatTab> {
    const id = `chat ${++this.#chats}/${sdk}`
    const cwd = join(this.parley.folder, `work-${this.#chats}`)
    mkdirSync(cwd)
    const context = await this.browser.newContext()
    // The page either holds the token, or sends its requests to its own server, which holds the token.
    const { url, token } = this.parley
    const access = agent === 'opencode' || sdk === 7 ? {} : { api: `${url}/api/chat`, token }
    const hash = new URLSearchParams({ ...access, sdk: String(sdk), id, agent, cwd })
    const address = `${this.#pages.get(sdk)?.origin}/#${hash}`
    return await new ChatTab(this, { id, cwd, address }).load(context)
  }

  messages(id: string): Promise<UiMessage[]> {
    return this.parley.call(`/api/chat/${encodeURIComponent(id)}/messages`)
  }
}

const patienceMs = 20_000

type Place = { readonly id: string; readonly cwd: string; readonly address: string }
type Part = UiMessage['parts'][number]

export class ChatTab {
  readonly consoleErrors: string[] = []
  readonly place: Place
  readonly #pages: ChatPages
  #page: Page | undefined

  constructor(pages: ChatPages, place: Place) {
    this.#pages = pages
    this.place = place
  }

  get page(): Page {
    if (!this.#page) throw new Error('This tab is not open.')
    return this.#page
  }

  async load(context: BrowserContext): Promise<this> {
    this.#page = await context.newPage()
    this.page.setDefaultTimeout(patienceMs)
    listen(this.page, this.consoleErrors)
    await this.page.goto(this.place.address)
    await this.page.getByRole('main').waitFor()
    return this
  }

  /** Another tab of the same browser, on the same chat. */
  beside(): Promise<ChatTab> {
    return new ChatTab(this.#pages, this.place).load(this.page.context())
  }

  async reload(): Promise<void> {
    await this.page.reload()
    await this.page.getByRole('main').waitFor()
  }

  async say(words: string): Promise<void> {
    await this.page.getByLabel('Message').fill(words)
    await this.press('Send')
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).last().click()
  }

  /** Waits until a message of the agent shows this text. */
  async shows(text: string | RegExp): Promise<void> {
    await this.page.getByRole('article', { name: 'assistant' }).getByText(text).last().waitFor()
  }

  status(): Promise<string | null> {
    return this.page.getByRole('status').textContent()
  }

  async messages(): Promise<UiMessage[]> {
    return JSON.parse((await this.page.locator('pre').textContent()) ?? '')
  }

  async last(): Promise<UiMessage> {
    return (await this.messages()).at(-1) ?? { id: '', role: 'assistant', parts: [] }
  }

  async tools(): Promise<Part[]> {
    return (await this.last()).parts.filter(({ type }) => type === 'dynamic-tool')
  }

  /** Waits until the agent has an open request and the page shows it. */
  async asked(): Promise<void> {
    await this.page.getByRole('button', { name: 'Approve' }).last().waitFor()
    await eventually(() => this.status()).toBe('ready')
  }

  /** Waits for the end of the turn, not only of a response, and compares the page with the server. */
  async ended(outcome = 'completed'): Promise<void> {
    await eventually(async () => (await this.last()).metadata).toMatchObject({ outcome })
    await eventually(() => this.status()).toBe(outcome === 'failed' ? 'error' : 'ready')
    await this.holdsTheSame()
  }

  /**
   * Checks that the page has the messages that the server would send to a new page. Cursors are not compared,
   * because events that no message shows, such as snapshots, move them.
   */
  async holdsTheSame(): Promise<void> {
    const sent = await this.#pages.messages(this.place.id)
    expect(withoutCursors(await this.messages())).toEqual(withoutCursors(sent))
  }

  async close(): Promise<void> {
    await this.page.context().close()
    expect(this.consoleErrors).toEqual([])
  }
}
