import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isInsideFolders } from '@parley/adapter-kit/inside-folder'

export type ShellToken = { readonly word: string } | { readonly operator: string }

const operators = ['&&', '||', '|', ';'] as const
/**
 * Characters that have a special meaning outside quotes in some shell. A line that contains one of them is not parsed
 * here. Pattern characters are included: they expand to file names, and a file name can look like an option.
 */
const special = /[$`<>(){}#&\n\r!*?[~^]/
/** The shells of the system. A program with the same name in another folder is treated as a part of the command. */
const shells =
  /^(\/(usr\/(local\/)?)?bin\/|\/opt\/homebrew\/bin\/|\/run\/current-system\/sw\/bin\/|\/nix\/store\/[^/]+\/bin\/)?(ba|z|da|k)?sh$/

/**
 * The words of a command line and its operators; undefined if it contains anything that a shell would process further:
 * expansions, patterns, redirections, subshells, comments, line breaks.
 */
export function shellTokens(line: string): ShellToken[] | undefined {
  const tokens: ShellToken[] = []
  let rest = withoutBlanks(line)
  while (rest !== '') {
    const operator = operators.find((one) => rest.startsWith(one))
    if (operator !== undefined) {
      tokens.push({ operator })
      rest = withoutBlanks(rest.slice(operator.length))
      continue
    }
    const read = readWord(rest)
    if (!read || read.length === 0) return undefined
    tokens.push({ word: read.word })
    rest = withoutBlanks(rest.slice(read.length))
  }
  return tokens
}

/** Removes blanks at both ends, but no line breaks, which end a command. */
function withoutBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

/**
 * Reads the first word of a text. Returns undefined if a shell would process the word further. In zsh, a word that
 * starts with an equals sign expands to the path of a program.
 */
function readWord(text: string): { word: string; length: number } | undefined {
  if (text.startsWith('=')) return undefined
  let word = ''
  let at = 0
  while (at < text.length) {
    const char = text.charAt(at)
    if (/\s/.test(char) && char !== '\n' && char !== '\r') break
    if (operators.some((one) => text.startsWith(one, at))) break
    const piece = char === "'" || char === '"' ? readQuoted(text, at) : readBare(text, at)
    if (!piece) return undefined
    word += piece.text
    at += piece.length
  }
  return { word, length: at }
}

type Piece = { readonly text: string; readonly length: number }

function readQuoted(text: string, at: number): Piece | undefined {
  if (text.charAt(at) === "'") {
    const end = text.indexOf("'", at + 1)
    return end < 0 ? undefined : { text: text.slice(at + 1, end), length: end + 1 - at }
  }
  let quoted = ''
  for (let next = at + 1; next < text.length; next++) {
    const char = text.charAt(next)
    if (char === '"') return { text: quoted, length: next + 1 - at }
    if (char === '$' || char === '`' || text.startsWith('\\\n', next)) return undefined
    if (char === '\\' && /[$`"\\]/.test(text.charAt(next + 1))) quoted += text.charAt(++next)
    else quoted += char
  }
  return undefined
}

function readBare(text: string, at: number): Piece | undefined {
  const char = text.charAt(at)
  if (char === '\\') {
    const escaped = text.charAt(at + 1)
    return escaped === '' || escaped === '\n' ? undefined : { text: escaped, length: 2 }
  }
  return special.test(char) ? undefined : { text: char, length: 1 }
}

/** The command without its shell: Codex puts a shell in front of every command. */
export function withoutShell(command: string): string {
  const tokens = shellTokens(command)
  if (tokens?.length !== 3) return command
  const [shell, flag, script] = tokens.map((token) => ('word' in token ? token.word : ''))
  const wrapped = shells.test(shell ?? '') && (flag === '-lc' || flag === '-c')
  return wrapped && script ? script : command
}

type Reading = 'read' | 'search'

/** Programs that only read. `unless` matches arguments that make them do more. */
const programs: Readonly<Record<string, { readonly kind: Reading; readonly unless?: RegExp }>> = {
  basename: { kind: 'read' },
  cat: { kind: 'read' },
  cd: { kind: 'read' },
  cut: { kind: 'read' },
  df: { kind: 'search' },
  dirname: { kind: 'read' },
  du: { kind: 'search' },
  echo: { kind: 'read' },
  find: { kind: 'search', unless: /^-(exec|ok|delete|fls|fprint)/ },
  grep: { kind: 'search' },
  head: { kind: 'read' },
  ls: { kind: 'search' },
  nl: { kind: 'read' },
  pwd: { kind: 'read' },
  readlink: { kind: 'read' },
  realpath: { kind: 'read' },
  rg: { kind: 'search', unless: /^(--pre|--hostname-bin|--search-zip|-[^-]*z)/ },
  stat: { kind: 'read' },
  tail: { kind: 'read' },
  tr: { kind: 'read' },
  wc: { kind: 'read' },
  which: { kind: 'search' },
}

const printsLines = /^\d+(,\d+)?p$/

/**
 * The kind of a command that certainly only reads, with or without a sandbox. Codex reads files by commands, so a
 * read-only session depends on such commands. Undefined if it is not certain that the command only reads.
 */
export function readingOf(command: string): Reading | undefined {
  const calls = callsOf(command)
  if (!calls) return undefined
  const kinds = calls.map(([program = '', ...args]) => kindOf(program, args))
  if (kinds.includes(undefined)) return undefined
  return kinds.includes('search') ? 'search' : 'read'
}

function kindOf(program: string, args: readonly string[]): Reading | undefined {
  if (program === 'sed') return onlyPrints(args) ? 'read' : undefined
  const known = Object.hasOwn(programs, program) ? programs[program] : undefined
  return known && !args.some((arg) => known.unless?.test(arg)) ? known.kind : undefined
}

function onlyPrints([flag, script, ...files]: readonly string[]): boolean {
  return flag === '-n' && printsLines.test(script ?? '') && !files.some((file) => file.startsWith('-'))
}

function callsOf(command: string): string[][] | undefined {
  const tokens = shellTokens(command)
  if (!tokens || tokens.length === 0) return undefined
  const calls: string[][] = [[]]
  for (const token of tokens) {
    if ('word' in token) calls.at(-1)?.push(token.word)
    else calls.push([])
  }
  return calls
}

/** Programs whose arguments are texts, not files. */
const takesNoFiles = new Set(['basename', 'dirname', 'echo', 'pwd', 'tr', 'which'])
/** Arguments that make a program follow links, which may point outside the folder. */
const followsLinks = /^(-[^-]*[RLH]|--(dereference|follow|files-from|file).*)/

/**
 * True if a command that only reads may read outside the folder. A word that names no existing file is ignored: it is
 * a search pattern, or there is nothing to read. The effect of each `cd` is considered, whether or not it is
 * executed.
 */
export function readsOutside(command: string, at: string | undefined, folder: string | undefined): boolean {
  const calls = callsOf(command)
  if (!calls || readingOf(command) === undefined) return false
  if (at === undefined || folder === undefined || !isInsideFolders(at, folder)) return true
  const places = [at]
  const leadsOut = (word: string) =>
    places.some((place) => existsSync(resolve(place, word)) && !isInsideFolders(resolve(place, word), folder))
  return calls.some(([program = '', ...args]) => {
    if (program === 'cd') {
      const [target] = args
      if (args.length !== 1 || target === undefined || target.startsWith('-')) return true
      places.push(...places.map((place) => resolve(place, target)))
      return leadsOut(target)
    }
    if (takesNoFiles.has(program)) return false
    return args.some((word) =>
      word.startsWith('-') ? followsLinks.test(word) || /[/\\]|\.\./.test(word) : leadsOut(word),
    )
  })
}
