import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** The files of the built console, read on request. Independent of routes and of access checks. */
export type ConsoleFiles = {
  /** The current page; a new build is served at the next load. Undefined if the console was not built. */
  page(): Promise<string | undefined>
  /** A file beside the page or one of its assets, compressed if the browser accepts it. */
  file(path: string, acceptEncoding: string | undefined): Promise<Response | undefined>
}

/**
 * Allows only Parley's own scripts and styles, none of them inline, and requests only to this server. No text from an
 * agent can become a script, because DOM functions that parse HTML do not accept plain strings.
 */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types parley',
].join('; ')

type Kept = { readonly plain: Buffer; readonly packed: Buffer | undefined }

export function createConsoleFiles(folder: string): ConsoleFiles {
  const assets = new Map<string, Promise<Kept | undefined>>()

  return {
    page: () => readFile(join(folder, 'index.html'), 'utf8').catch(() => undefined),
    async file(path, acceptEncoding) {
      const type = typeOf(path)
      if (!type) return undefined
      const isAsset = path.startsWith('assets/')
      const found = isAsset ? (assets.get(path) ?? load(join(folder, path))) : load(join(folder, path))
      if (isAsset) assets.set(path, found)
      const kept = await found
      if (!kept) {
        assets.delete(path)
        return undefined
      }
      const packed = kept.packed !== undefined && /\bgzip\b/.test(acceptEncoding ?? '')
      return new Response(new Uint8Array(packed && kept.packed ? kept.packed : kept.plain), {
        headers: {
          'Content-Type': type,
          // The name of an asset contains the hash of its content; the few other files are revalidated.
          'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
          Vary: 'Accept-Encoding',
          // A worker is subject to the policy of its own script, not to that of the page.
          'Content-Security-Policy': consolePolicy,
          ...(packed && { 'Content-Encoding': 'gzip' }),
        },
      })
    },
  }
}

const types: Record<string, string> = {
  js: 'text/javascript; charset=UTF-8',
  css: 'text/css; charset=UTF-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
}

/**
 * The media type of a file. Undefined for types that the build does not produce, so that no other file can be
 * requested.
 */
function typeOf(path: string): string | undefined {
  const extension = /^(?:assets\/)?[\w-]+(?:\.[\w-]+)*\.(\w+)$/.exec(path)?.[1]
  return extension === undefined ? undefined : types[extension]
}

const pack = promisify(gzip)

async function load(file: string): Promise<Kept | undefined> {
  const plain = await readFile(file).catch(() => undefined)
  if (!plain) return undefined
  const packed = /\.(woff2|png)$/.test(file) ? undefined : await pack(plain)
  return { plain, packed }
}
