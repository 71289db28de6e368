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

const mostLines = 6
const longestLine = 300

/** Collects the text that a program writes to stderr, and passes on the last lines as plain text. */
export function lastLines(tell: ((text: string) => void) | undefined): ((text: string) => void) | undefined {
  if (!tell) return undefined
  let kept = ''
  return (text) => {
    kept = (kept + text).slice(-maxLength)
    // A line that is about to be overwritten ends with a carriage return.
    const lines = plain(kept.replace(/\r+$/, '')).split('\n').slice(-mostLines)
    const shown = lines.map((line) => line.slice(0, longestLine)).join('\n')
    if (shown !== '') tell(shown)
  }
}

/** Removes the lines in which git reports its progress. */
export function withoutProgress(text: string): string {
  return text
    .split('\n')
    .filter((line) => !progressOfGit.test(line.slice(line.lastIndexOf('\r') + 1)))
    .join('\n')
}

const progressOfGit =
  /^(remote: )?((Enumerating|Counting|Compressing|Writing|Receiving|Unpacking) objects|Resolving deltas|Updating files): |^Delta compression using |^Total \d+ /

/**
 * Removes escape sequences and control characters, and parts of lines that the program has overwritten, such as
 * progress.
 */
export function plain(text: string): string {
  const lines = text.replace(sequences, '').replaceAll('\r\n', '\n').split('\n')
  const shown = lines.map((line) => line.slice(line.lastIndexOf('\r') + 1).replace(controls, ''))
  return shown.join('\n').trim()
}
