import { parentPort, workerData } from 'node:worker_threads'
import { isDamaged, removeSearchFile, SqliteSearchFile } from './sqlite-search-file.ts'

/** A call to the worker thread that owns the file of the search index. Its answer has the same `number`. */
export type SearchCall = {
  readonly number: number
  readonly method: 'cursor' | 'cursors' | 'add' | 'remove' | 'find' | 'close'
  readonly argument?: unknown
}
export type SearchAnswer =
  | { readonly number: number; readonly result: unknown }
  | {
      readonly number: number
      readonly message: string
      readonly errcode?: number
      readonly isDamaged: boolean
    }

const file = workerData as string
let index = new SqliteSearchFile(file)
let isForgetting = false

parentPort?.on('message', ({ number, method, argument }: SearchCall) => {
  parentPort?.postMessage(answerTo(number, method, argument))
  if (method === 'close') parentPort?.close()
  else if (method === 'remove' && !isForgetting) {
    isForgetting = true
    setImmediate(forgetSoon)
  }
})

function answerTo(number: number, method: SearchCall['method'], argument: unknown): SearchAnswer {
  try {
    const perform = index[method] as (this: SqliteSearchFile, argument: unknown) => unknown
    return { number, result: perform.call(index, argument) }
  } catch (thrown) {
    const damaged = isDamaged(thrown)
    if (damaged) startAgain()
    const errcode = thrown instanceof Error && 'errcode' in thrown ? Number(thrown.errcode) : undefined
    return {
      number,
      message: thrown instanceof Error ? thrown.message : String(thrown),
      ...(errcode !== undefined && { errcode }),
      isDamaged: damaged,
    }
  }
}

/** A damaged file is replaced by an empty file, which is filled again. */
function startAgain(): void {
  try {
    index.close()
  } catch {
    // The error is ignored, because the file is deleted below.
  }
  removeSearchFile(file)
  index = new SqliteSearchFile(file)
}

function forgetSoon(): void {
  isForgetting = false
  try {
    index.forget()
  } catch (thrown) {
    if (isDamaged(thrown)) startAgain()
  }
}
