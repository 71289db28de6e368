import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { AxeBuilder } from '@axe-core/playwright'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { findChromium } from '../run/chromium.ts'
import { type SignInServer, signIn } from './browser-sign-in.ts'

const root = resolve(import.meta.dirname, '../..')
const graceMs = 15_000

/** The real program with the demo agent. */
export class ConsoleServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'parley-console-'))
  readonly project = join(this.folder, 'project')
  readonly token = 'console-test-token'
  port = 0
  /** The one-time link that the server printed at its start. */
  link = ''
  log = ''
  /** Further variables for the server's agents, e.g. the address of their model. */
  environment: Readonly<Record<string, string>> = {}
  #process: ChildProcess | undefined

  static build(): void {
    execFileSync(process.execPath, ['apps/web/scripts/build-if-needed.ts'], { cwd: root, stdio: 'ignore' })
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    mkdirSync(this.project, { recursive: true })
    const program = join(root, 'packages/server/bin/parley.js')
    const child = spawn(
      process.execPath,
      [
        '--conditions=source',
        '--disable-warning=ExperimentalWarning',
        program,
        'serve',
        '--port',
        `${this.port}`,
      ],
      { env: this.#environment(), cwd: this.project, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    this.#process = child
    child.stderr!.on('data', (text) => {
      this.log += text
    })
    const exit = once(child, 'exit').then(([code]) => {
      throw new Error(`the server ended with ${code}: ${this.log}`)
    })
    this.link = await Promise.race([printedLink(child), exit])
    this.port = Number(new URL(this.link).port)
    exit.catch(() => {})
  }

  async startIfEnded(): Promise<void> {
    if (this.#hasEnded) await this.start()
  }

  /** Kills the server, as a crash or a power failure would. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Ends the server with its agents and terminals, as a person would, and removes its folder. */
  async dispose(): Promise<void> {
    const force = setTimeout(() => this.#process?.kill('SIGKILL'), graceMs)
    await this.#end('SIGTERM')
    clearTimeout(force)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  get #hasEnded(): boolean {
    const { exitCode = null, signalCode = null } = this.#process ?? {}
    return exitCode !== null || signalCode !== null
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (!child || this.#hasEnded) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  async call<Reply>(
    path: string,
    body?: unknown,
    method = body === undefined ? 'GET' : 'POST',
  ): Promise<Reply> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Reply
  }

  async session(prompt?: string): Promise<string> {
    const input = { agent: 'demo', cwd: this.project, ...(prompt !== undefined && { prompt }) }
    return (await this.call<{ id: string }>('/api/sessions', input)).id
  }

  /** Creates a git repository with one committed file, `src/greet.ts`. */
  repository(name: string): string {
    const folder = join(this.folder, name)
    mkdirSync(join(folder, 'src'), { recursive: true })
    writeFileSync(join(folder, 'src/greet.ts'), "export const greet = () => 'Hello'\n")
    git(folder, 'init', '-q', '-b', 'main')
    commit(folder, 'start')
    return folder
  }

  async newLink(): Promise<string> {
    return (await this.call<{ url: string }>('/api/links', {})).url
  }

  /** The environment of the server, with a separate home, in which no agent is signed in. */
  #environment(): NodeJS.ProcessEnv {
    const { PATH, LANG, NODE_COMPILE_CACHE } = process.env
    return {
      ...(PATH && { PATH }),
      ...(LANG && { LANG }),
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      HOME: this.folder,
      PARLEY_DATA_DIR: join(this.folder, 'data'),
      PARLEY_TOKEN: this.token,
      PARLEY_LOG_LEVEL: 'warn',
      ...this.environment,
    }
  }
}

export function git(folder: string, ...args: string[]): string {
  const person = ['-c', 'user.name=t', '-c', 'user.email=t@example.com']
  return execFileSync('git', [...person, ...args], { cwd: folder, encoding: 'utf8' })
}

export function commit(folder: string, words: string): void {
  git(folder, 'add', '-A')
  // A retried test commits the same files again.
  git(folder, 'commit', '-q', '--allow-empty', '-m', words)
}

/** Writes a conversation into a home folder, as Claude Code would store it. */
export function rememberConversation(home: string, { title, reply }: { title: string; reply: string }): void {
  const folder = join(home, '.claude', 'projects', 'app')
  mkdirSync(folder, { recursive: true })
  const sessionId = '4f2b8a1e-0000-4000-8000-000000000001'
  const entry = (type: string, content: unknown) =>
    JSON.stringify({
      type,
      uuid: `${type}-1`,
      timestamp: '2026-01-01T00:00:00.000Z',
      cwd: home,
      sessionId,
      message: { role: type, content, id: 'msg_1', type: 'message', model: 'm', usage: {} },
    })
  const lines = [entry('user', title), entry('assistant', [{ type: 'text', text: reply }])]
  writeFileSync(join(folder, `${sessionId}.jsonl`), `${lines.join('\n')}\n`)
}

export async function printedLink(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    if (line.includes('/open#')) return line.trim()
  }
  return await new Promise<never>(() => {})
}

/**
 * Saves processor time by using no emulated graphics processor and one process for all pages of a context. A page lives
 * for seconds, in which optimising its code takes more time than it saves.
 */
const browserSwitches = [
  '--no-sandbox',
  '--disable-gpu',
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  '--js-flags=--no-opt --no-maglev',
]

export function launchBrowser(switches: readonly string[] = []): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === undefined)
    throw new Error('Chromium is missing: run npm test, which installs it, or name one in PARLEY_CHROMIUM.')
  return chromium.launch({ executablePath, args: [...browserSwitches, ...switches] })
}

let shared: Promise<Browser> | undefined

/**
 * The browser of this worker, which all its test files use one after another: a start of Chromium takes more processor
 * time than most tests. It ends with the worker. A file closes its contexts with `closeContexts`.
 */
export async function sharedBrowser(): Promise<Browser> {
  const browser = await shared
  if (!browser?.isConnected()) shared = launchBrowser()
  return await shared!
}

/** Closes the contexts that the tests of a file have left open. */
export async function closeContexts(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()))
}

export type Tab = { readonly page: Page; readonly context: BrowserContext; readonly consoleErrors: string[] }

export const phone = {
  viewport: { width: 390, height: 780 },
  hasTouch: true,
  isMobile: true,
  deviceScaleFactor: 2,
}

/** With `load: false`, the tab does not load the console, for tests that first prepare the tab or open another page. */
export type TabOptions = BrowserContextOptions & { readonly load?: boolean }

/**
 * A signed-in tab in a separate context, at a path of the console. Resolves when the page handles keys. The tab has
 * no service worker unless the options allow it, because a service worker fetches every part of the page. Collects
 * all page errors, above all those of the content security policy.
 */
export async function openTab(
  browser: Browser,
  server: SignInServer,
  { load = true, ...options }: TabOptions = {},
  path = '/',
): Promise<Tab> {
  const defaults = { viewport: { width: 1280, height: 860 }, serviceWorkers: 'block' } as const
  const context = await browser.newContext({ ...defaults, ...options })
  const page = await context.newPage()
  const consoleErrors: string[] = []
  listen(page, consoleErrors)
  await signIn(page, server)
  if (load) {
    await page.goto(`${server.url}${path}`)
    await page.locator('#place').waitFor({ state: 'attached' })
  }
  return { page, context, consoleErrors }
}

export function listen(page: Page, consoleErrors: string[]): void {
  page.on('pageerror', (error) => consoleErrors.push(String(error)))
  page.on('dialog', (dialog) => consoleErrors.push(`dialog: ${dialog.message()}`))
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() !== 'error' || /net::ERR|Failed to load resource|WebSocket connection/.test(text))
      return
    consoleErrors.push(text)
  })
}

/**
 * The findings of axe with the impact `serious` or `critical`, one line each. Waits for the end of animations,
 * because text that fades in has too little contrast.
 */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.waitForFunction(() =>
    document.getAnimations().every(({ effect, playState }) => {
      const isEndless = effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY
      return isEndless || playState !== 'running'
    }),
  )
  // The console has no frames. Outside its legacy mode, axe would open a second page to merge the results of frames.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] })
  const { violations } = await axe.analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)}`))
}
