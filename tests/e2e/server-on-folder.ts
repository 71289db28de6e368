import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A server process on a folder that a test has prepared. `shell` runs first, in the shell that becomes the server. */
export type ServerOnFolder = AsyncDisposable & {
  readonly url: string
  readonly token: string
  readonly pid: number
  log(): string
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

export type FolderOptions = { readonly dataDir: string; readonly shell?: string }

const token = 'folder-test-token'

export async function startOnFolder(options: FolderOptions): Promise<ServerOnFolder> {
  const { child, log, exited } = launch(options)
  const ready = once(createInterface({ input: child.stdout! }), 'line')
  const failed = exited.then((code) => {
    throw new Error(`the server ended with ${code}: ${log()}`)
  })
  const [line] = await Promise.race([ready, failed])
  failed.catch(() => undefined)
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal)
    await exited
  }
  return {
    url: `http://127.0.0.1:${(JSON.parse(line as string) as { port: number }).port}`,
    token,
    pid: child.pid!,
    log,
    end,
    [Symbol.asyncDispose]: () => end('SIGKILL'),
  }
}

/** Starts a server that must fail to start. Resolves with its exit code and its output. */
export async function failToStart(options: FolderOptions): Promise<{ code: number | null; log: string }> {
  const { child, log, exited } = launch(options)
  const ready = once(createInterface({ input: child.stdout! }), 'line').then(() => {
    child.kill('SIGKILL')
    throw new Error('the server started')
  })
  const code = await Promise.race([exited, ready])
  ready.catch(() => undefined)
  return { code, log: log() }
}

function launch({ dataDir, shell = ':' }: FolderOptions): {
  child: ChildProcess
  log(): string
  exited: Promise<number | null>
} {
  const entry = new URL('./server-process.ts', import.meta.url).pathname
  const flags = ['--conditions=source', '--disable-warning=ExperimentalWarning']
  const server = [process.execPath, ...flags, entry, dataDir, '0', token]
  const child = spawn('bash', ['-c', `${shell}; exec "$@"`, 'server', ...server], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr!.on('data', (text) => {
    log += text
  })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { child, log: () => log, exited }
}
