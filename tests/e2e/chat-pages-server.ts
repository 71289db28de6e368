import { createReadStream } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, relative } from 'node:path'
import { build } from 'vite'

export type Sdk = 6 | 7

/** Builds the page with this version of the AI SDK. Returns its source files, without third-party packages. */
export async function buildPage(sdk: Sdk, outDir: string): Promise<string[]> {
  const root = join(import.meta.dirname, 'chat-pages')
  const own: string[] = []
  const isForeign = (id: string) => id.includes('/node_modules/') || id.startsWith('\0')
  await build({
    configFile: false,
    root,
    mode: 'production',
    logLevel: 'error',
    // Without this, a test would get the development JSX.
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { development: false } },
    resolve: {
      alias: [
        { find: /^ai7$/, replacement: `ai${sdk}` },
        { find: /^ai-react7$/, replacement: `ai-react${sdk}` },
      ],
    },
    build: { outDir, target: 'es2023', modulePreload: { polyfill: false } },
    plugins: [
      {
        name: 'what-is-in-it',
        moduleParsed: ({ id }) => void (isForeign(id) || own.push(relative(root, id))),
      },
    ],
  })
  return own.sort()
}

/**
 * The server of a third-party page. Its own routes under /api/chat forward requests to Parley with the token, which
 * the page never gets.
 */
export class PageServer implements AsyncDisposable {
  readonly #folder: string
  readonly #server: Server
  parley = { port: 0, token: '' }

  private constructor(folder: string) {
    this.#folder = folder
    this.#server = createServer((incoming, outgoing) => {
      const { pathname } = new URL(incoming.url ?? '/', 'http://page')
      if (pathname.startsWith('/api/chat')) this.#passOn(incoming, outgoing)
      else this.#file(pathname, outgoing)
    })
  }

  static async start(folder: string): Promise<PageServer> {
    const page = new PageServer(folder)
    await new Promise<void>((resolve) => page.#server.listen(0, '127.0.0.1', resolve))
    return page
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  #file(path: string, outgoing: ServerResponse): void {
    const name = path.endsWith('/') ? `${path}index.html` : path
    const type = name.endsWith('.js') ? 'text/javascript' : 'text/html'
    const file = createReadStream(join(this.#folder, name))
    file.once('open', () => outgoing.setHeader('content-type', type))
    file.once('error', () => outgoing.writeHead(404).end())
    file.pipe(outgoing)
  }

  #passOn(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { port, token } = this.parley
    const { origin, cookie, host, ...headers } = incoming.headers
    const onward = request({
      host: '127.0.0.1',
      port,
      path: incoming.url,
      method: incoming.method,
      headers: { ...headers, authorization: `Bearer ${token}` },
    })
    onward.once('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.once('error', () => outgoing.destroy())
    outgoing.once('close', () => onward.destroy())
    incoming.pipe(onward)
  }
}
