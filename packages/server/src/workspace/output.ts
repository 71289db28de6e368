import type { GitResult } from './run-git.ts'

const maxLength = 4_000

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences that programs write to terminals
const sequences = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b./g
const controls = /[^\P{Cc}\n\t]/gu

/** The end of the output of a program, as plain text. */
export function outputOf({ stdout, stderr }: Pick<GitResult, 'stdout' | 'stderr'>): string {
  const text = [stdout, stderr].map(plain).filter((one) => one !== '')
  return text.join('\n').slice(-maxLength).trim()
}

/**
 * Removes escape sequences and control characters, and parts of lines that the program has overwritten, such as
 * progress.
 */
export function plain(text: string): string {
  const lines = text.replace(sequences, '').replaceAll('\r\n', '\n').split('\n')
  const shown = lines.map((line) => line.slice(line.lastIndexOf('\r') + 1).replace(controls, ''))
  return shown.join('\n').trim()
}
