import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** The calls that a process answers: name to function. */
export type Calls = Record<string, (input: never) => unknown>

/** Another process of the bench. `call` calls one of its functions. */
export type Remote<C extends Calls> = {
  readonly pid: number
  call<Name extends keyof C & string>(
    name: Name,
    ...input: Parameters<C[Name]>
  ): Promise<Awaited<ReturnType<C[Name]>>>
  stop(): Promise<void>
}

const longestCallMs = 60_000

type Request = { id: number; name: string; input: unknown }
type Reply = { id: number; result?: unknown; error?: string; kind?: string }

/**
 * Starts `entry`, a file in this folder that ends with `answer(calls)`. With the condition `source`, the packages of this
 * repository are loaded from their sources.
 */
export function startProcess<C extends Calls>(
  entry: string,
  given: unknown = {},
  { condition = 'source' }: { condition?: 'source' | 'default' } = {},
): Remote<C> {
  const execArgv = [`--conditions=${condition}`, '--expose-gc', ...profiling()]
  const child = fork(new URL(entry, import.meta.url), [JSON.stringify(given)], { execArgv })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let last = 0
  child.on('message', ({ id, result, error, kind }: Reply) => {
    const call = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(Object.assign(new Error(error), kind !== undefined && { name: kind }))
  })
  child.once('exit', (code, signal) => {
    for (const call of waiting.values()) call.reject(new Error(`${entry} ended (${code ?? signal}).`))
    waiting.clear()
  })
  return {
    pid: child.pid!,
    call: (name, ...input) =>
      new Promise((resolve, reject) => {
        const id = ++last
        const late = setTimeout(() => reject(new Error(`${entry} did not answer ${name}.`)), longestCallMs)
        const settle = (value: unknown) => {
          clearTimeout(late)
          resolve(value as never)
        }
        waiting.set(id, { resolve: settle, reject })
        child.send({ id, name, input: input[0] } satisfies Request)
      }),
    stop: () => stop(child),
  }
}

/** With BENCH_PROFILE=<folder>, every process writes a CPU profile there. */
function profiling(): string[] {
  const folder = process.env.BENCH_PROFILE
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  if (child.connected) child.disconnect()
  const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(force)
}

/** The input that this process was started with. */
export function given<T>(): T {
  return JSON.parse(process.argv[2] ?? '{}') as T
}

/** Answers calls until the parent disconnects, then runs `end` and exits. */
export function answer<C extends Calls>(calls: C, end: () => unknown = () => undefined): void {
  process.on('message', async ({ id, name, input }: Request) => {
    try {
      const result = await calls[name]!(input as never)
      process.send?.({ id, result } satisfies Reply)
    } catch (error) {
      const { message, name: kind } = error as Error
      process.send?.({ id, error: message, kind } satisfies Reply)
    }
  })
  process.once('disconnect', async () => {
    await end()
    process.exit(0)
  })
}
