import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { end } from '../lib/program.ts'
import type { Place } from './side.ts'

export type ServerProcess = {
  readonly child: ChildProcess
  readonly begun: number
  stop(): Promise<void>
}

type Start = { readonly env?: Record<string, string>; readonly stdin?: 'pipe' | 'ignore' }

/** Starts a program of a side with the environment of its place and nothing else. */
export function startServer(place: Place, command: readonly string[], options: Start = {}): ServerProcess {
  const begun = performance.now()
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: place.work,
    env: { ...place.env, ...options.env },
    stdio: [options.stdin ?? 'ignore', 'pipe', process.env.BENCH_STDERR ? 'inherit' : 'ignore'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  child.on('error', () => undefined)
  return { child, begun, stop: () => end(child) }
}

/** Resolves with the first text on stdout that matches, and keeps reading so that the program is not blocked. */
export function printed({ child }: ServerProcess, pattern: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const found = pattern.exec(line)?.[0]
    if (found !== undefined) resolve(found)
  })
  child.once('exit', (code, signal) =>
    reject(new Error(`The program ended (${code ?? signal}) before it was ready.`)),
  )
  child.once('error', reject)
  return promise
}

/** Resolves when the address answers. */
export async function answers(url: string, { child }: ServerProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The program ended (${child.exitCode}) before it was ready.`)
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number }
    server.close(() => resolve(port))
  })
  return promise
}
