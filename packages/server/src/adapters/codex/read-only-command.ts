import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isInsideFolders } from '../inside-folder.ts'
import { shellTokens } from './shell-words.ts'

type Reading = 'read' | 'search'

/** Programs that only read, and the arguments with which they would do more. */
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
 * read-only session depends on these. In doubt, undefined.
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
const filesNothing = new Set(['basename', 'dirname', 'echo', 'pwd', 'tr', 'which'])
/** Arguments that make a program follow links, wherever these lead. */
const followsLinks = /^(-[^-]*[RLH]|--(dereference|follow|files-from|file).*)/

/**
 * Whether a command that only reads may read outside the folder. A word that names no existing file is a pattern or an
 * unreadable file. The effect of each `cd` is considered, whether or not it is executed.
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
    if (filesNothing.has(program)) return false
    return args.some((word) =>
      word.startsWith('-') ? followsLinks.test(word) || /[/\\]|\.\./.test(word) : leadsOut(word),
    )
  })
}
