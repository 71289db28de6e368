import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

const entry = `${root}packages/server/bin/parley.js`

/** The two ways to run the program `parley`: from the sources in the repository, or as a built package. */
export type Program = { readonly name: 'source' | 'built'; readonly args: readonly string[] }

export const source: Program = {
  name: 'source',
  args: ['--conditions=source', entry],
}

/** The built packages. `built` must have been called before. */
export const builtBefore: Program = { name: 'built', args: [entry] }

let program: Program | undefined

/** Builds the packages like `npm run build`. The program then runs on plain Node. */
export function built(): Program {
  program ??= build()
  return program
}

function build(): Program {
  const tsc = `${root}node_modules/typescript/bin/tsc`
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-b', 'packages/server', 'packages/client'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) console.error(`The build has errors; its incomplete output is measured:\n${stdout}`)
  const output = `${root}packages/server/dist/cli/program.js`
  if (!existsSync(output)) throw new Error(`The build did not write ${output}.`)
  return builtBefore
}

export type Started = {
  readonly pid: number
  readonly url: string
  readonly token: string
  /** The time from the start of the process to its first successful health check. */
  readonly healthyMs: number
  stop(): Promise<void>
}

export async function startProgram(
  { args }: Program,
  dataDir: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Started> {
  const start = performance.now()
  const child = spawn(process.execPath, [...args, 'serve', '--port', '0', '--json', '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...env, PARLEY_LOG_LEVEL: 'error' },
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const { url, token } = await readyLine(child)
  const response = await fetch(`${url}/api/health`)
  if (!response.ok) throw new Error(`Health: ${response.status}`)
  await response.body?.cancel()
  return { pid: child.pid!, url, token, healthyMs: performance.now() - start, stop: () => end(child) }
}

/** Resolves with the JSON line that the program prints when it is ready. */
async function readyLine(child: ChildProcess): Promise<{ url: string; token: string }> {
  for await (const line of createInterface({ input: child.stdout! })) {
    if (line.startsWith('{')) return JSON.parse(line) as { url: string; token: string }
  }
  throw new Error('The program ended before it was ready.')
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(force)
}

/** The resident memory of a process in bytes, as the operating system reports it. */
export function residentBytes(pid: number): number {
  if (process.platform === 'linux') {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
  }
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024
}
