/** One line of the table. `met` is absent if there is no aim. */
export type Row = {
  readonly figure: string
  readonly value: string
  readonly baseline?: string
  readonly ratio?: number
  readonly aim?: string
  readonly met?: boolean
  /** The numeric values, for results.json. */
  readonly data?: Record<string, number>
}

export type FigureInput = {
  /** Smaller sizes and fewer rounds, to check that the bench works. The results are not meaningful. */
  readonly quick: boolean
  /** A new folder for this figure, removed after it. */
  readonly folder: string
}

/**
 * One figure of the bench. `measure` rejects if the figure cannot be measured, or with a LostError if data was lost.
 */
export type Figure = {
  readonly name: string
  readonly measure: (input: FigureInput) => Promise<Row[]>
}

/** A reader did not receive all data in order, so the measurement is void. */
export class LostError extends Error {
  override readonly name = 'LostError'
}

export const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`
export const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`
export const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 3 : 1)} MiB`
