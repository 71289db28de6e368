import type { Context } from './context.ts'
import { oneLine, visible } from './terminal/visible.ts'

/** One check of a doctor command and its result. */
export type Check = {
  readonly name: string
  /** `info` is neither good nor bad. */
  readonly result: 'ok' | 'info' | 'warn' | 'fail'
  readonly text: string
  /** Output of the checked program, verbatim. */
  readonly lines?: readonly string[]
}

export const ok = (name: string, text: string): Check => ({ name, result: 'ok', text })
export const warn = (name: string, text: string): Check => ({ name, result: 'warn', text })
export const fail = (name: string, text: string): Check => ({ name, result: 'fail', text })

const resultWidth = 5
const nameWidth = 20

export function checkLine({ name, result, text, lines = [] }: Check, { output }: Context): string {
  const { green, yellow, red, dim } = output.outStyle
  const paint = { ok: green, info: dim, warn: yellow, fail: red }[result]
  const more = lines.map((line) => `${' '.repeat(resultWidth + nameWidth)}${dim(visible(line))}\n`)
  return `${paint(result.padEnd(resultWidth))}${name.padEnd(nameWidth - 1)} ${oneLine(text)}\n${more.join('')}`
}
