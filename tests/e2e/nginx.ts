import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { CertificateAuthority } from '../../packages/server/src/testing/certificate-authority.ts'

const page = resolve(import.meta.dirname, '../../docs/operations.md')
/** The values in the documented configurations that a test replaces with its own. */
const documented = {
  listen: 'listen 443 ssl;',
  certificate: '/etc/nginx/parley.crt',
  key: '/etc/nginx/parley.key',
  proxied: 'http://127.0.0.1:4747',
  location: /^ {4}location \/ \{\n.*?^ {4}\}\n/ms,
}

/** The configurations of nginx in docs/operations.md: a whole server, and a location under a path. */
export function documentedNginx(): { readonly server: string; readonly location: string } {
  const [server, location, ...more] = [
    ...readFileSync(page, 'utf8').matchAll(/^```nginx\n(.*?)^```$/gms),
  ].map(([, text = '']) => text)
  if (server === undefined || location === undefined || more.length > 0)
    throw new Error(`${page} must have two configurations of nginx`)
  return { server, location }
}

/** nginx with TLS on loopback, as this user. */
export class Nginx {
  readonly folder = mkdtempSync(join(tmpdir(), 'parley-nginx-'))
  readonly authority = new CertificateAuthority(this.folder)
  log = ''
  port = 0
  #process: ChildProcess | undefined

  async prepare(): Promise<void> {
    this.authority.issue('site', 'subjectAltName=DNS:parley.example')
    this.port = await freePort()
  }

  get url(): string {
    return `https://parley.example:${this.port}`
  }

  get requests(): string {
    return readFileSync(join(this.folder, 'access.log'), 'utf8')
  }

  /** `location` replaces the location of the documented server. Each replaced value must occur exactly once. */
  async start(proxiedPort: number, location?: string): Promise<void> {
    let text = documentedNginx().server
    const replace = (from: string | RegExp, to: string) => {
      if (text.split(from).length !== 2) throw new Error(`${from} must be once in the configuration`)
      text = text.replace(from, () => to)
    }
    if (location !== undefined) replace(documented.location, location)
    replace(documented.listen, `listen 127.0.0.1:${this.port} ssl;`)
    replace(documented.certificate, this.authority.path('site.crt'))
    replace(documented.key, this.authority.path('site.key'))
    replace(documented.proxied, `http://127.0.0.1:${proxiedPort}`)
    await this.#run(text)
  }

  async #run(text: string): Promise<void> {
    const at = (name: string) => join(this.folder, name)
    const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    for (const kind of kinds) mkdirSync(at(kind), { recursive: true })
    const temporary = kinds.map((kind) => `${kind}_temp_path ${at(kind)};`).join('\n')
    // As root, nginx would run its workers as another user, who cannot read the folder.
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    writeFileSync(
      at('nginx.conf'),
      `daemon off; ${user} pid ${at('pid')}; worker_processes 1;
events {}
http {
access_log ${at('access.log')};
${temporary}
${text}
}
`,
    )
    const child = spawn('nginx', ['-p', this.folder, '-c', at('nginx.conf'), '-e', 'stderr'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
    })
    this.#process = child
    child.stderr.on('data', (words) => {
      this.log += words
    })
    const ended = once(child, 'exit').then(() => {
      throw new Error(`nginx has ended: ${this.log}`)
    })
    ended.catch(() => {})
    await Promise.race([this.#answers(), ended])
  }

  async #answers(): Promise<void> {
    for (;;) {
      const socket = connect(this.port, '127.0.0.1')
      const isOpen = await Promise.race([
        once(socket, 'connect').then(() => true),
        once(socket, 'error').then(() => false),
      ]).catch(() => false)
      socket.destroy()
      if (isOpen) return
    }
  }

  async stop(): Promise<void> {
    const child = this.#process
    if (child && child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * A free port below the range from which the system assigns ports, so that no other program gets it before it
 * is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
