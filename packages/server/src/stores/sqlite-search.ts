import { Worker } from 'node:worker_threads'
import { ParleyError } from '@parley/protocol'
import type { IndexCursor, IndexPage, SearchIndex } from '../core/search-index.ts'
import { sqliteFailure } from './sqlite-failure.ts'
import type { SearchAnswer, SearchCall } from './sqlite-search-worker.ts'

const isSource = import.meta.url.endsWith('.ts')
const program = new URL(`./sqlite-search-worker.${isSource ? 'ts' : 'js'}`, import.meta.url)
/** The thread uses some megabytes, so it ends when nobody searches and nothing is recorded. */
const idleMs = 60_000

/**
 * A search index in a separate SQLite file. A worker thread uses the file, because a long query would block the
 * server.
 */
export function createSqliteSearch(file: string): SearchIndex {
  const thread = new SearchThread(file)
  return {
    cursor: (sessionId) => thread.call<IndexCursor | undefined>('cursor', sessionId),
    cursors: () => thread.call<Map<string, IndexCursor>>('cursors'),
    add: (step) => thread.call<boolean>('add', step),
    remove: (sessionId) => thread.call<void>('remove', sessionId),
    find: (query) => thread.call<IndexPage>('find', query),
    close: () => thread.end(),
  }
}

type Pending = { resolve(result: unknown): void; reject(error: unknown): void }

class SearchThread {
  readonly #file: string
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #number = 0
  #idle: NodeJS.Timeout | undefined
  #isClosed = false
  #stopping: Promise<void> | undefined

  constructor(file: string) {
    this.#file = file
  }

  async call<T>(method: SearchCall['method'], argument?: unknown): Promise<T> {
    if (this.#isClosed) throw new ParleyError('internal_error', `${this.#file} is closed.`)
    // The file is locked until the former thread has closed it.
    await this.#stopping
    return (await this.#send(method, argument)) as T
  }

  async end(): Promise<void> {
    this.#isClosed = true
    await this.#stop()
  }

  #send(method: SearchCall['method'], argument?: unknown): Promise<unknown> {
    clearTimeout(this.#idle)
    this.#worker ??= this.#start()
    const number = ++this.#number
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(number, { resolve, reject }))
    this.#worker.ref()
    this.#worker.postMessage({ number, method, argument } satisfies SearchCall)
    return answer
  }

  #start(): Worker {
    // The first releases of Node 24 warn that node:sqlite is experimental.
    const execArgv = ['--disable-warning=ExperimentalWarning']
    const worker = new Worker(program, { workerData: this.#file, execArgv, name: 'search' })
    worker.on('message', (answer: SearchAnswer) => this.#answered(answer))
    const failed = (thrown: unknown) => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const { reject } of this.#pending.values()) reject(sqliteFailure(thrown, this.#file))
      this.#pending.clear()
    }
    worker.on('error', failed)
    worker.on('exit', () => failed(new ParleyError('busy', 'The search index was closed. Try again.')))
    return worker
  }

  #answered(answer: SearchAnswer): void {
    const pending = this.#pending.get(answer.number)
    this.#pending.delete(answer.number)
    if (this.#pending.size === 0) this.#rest()
    if ('result' in answer) pending?.resolve(answer.result)
    else pending?.reject(this.#failureOf(answer))
  }

  #rest(): void {
    this.#worker?.unref()
    clearTimeout(this.#idle)
    if (!this.#isClosed) this.#idle = setTimeout(() => void this.#stop(), idleMs).unref()
  }

  #stop(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    if (!worker) return this.#stopping ?? Promise.resolve()
    const closed = this.#send('close').catch(() => undefined)
    this.#worker = undefined
    this.#stopping = closed.then(async () => void (await worker.terminate()))
    return this.#stopping
  }

  #failureOf({ message, errcode, isDamaged }: Extract<SearchAnswer, { message: string }>): unknown {
    if (isDamaged)
      return new ParleyError(
        'busy',
        'The search index was damaged and is being built again. Try again later.',
        {
          details: { wasReset: true },
        },
      )
    return sqliteFailure(Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode }), this.#file)
  }
}
