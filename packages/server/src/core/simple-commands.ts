/**
 * The simple commands that a command line would run, each as its words separated by one space. Includes the commands in
 * lists, pipelines, subshells and substitutions, and those after `sudo`, `env`, `sh -c` and the like. Leading variable
 * assignments are left out. A program that is called by its path is also listed by its base name. Used by rules that
 * refuse, so if it is uncertain whether something is a command, it is included. Commands that are composed at run time
 * (`$x`, a script in a file) are not found. Undefined if the line is too long or nested too deeply to parse.
 */
export function simpleCommands(value: unknown): string[] | undefined {
  const length = JSON.stringify(value)?.length ?? 0
  const search: Search = { found: new Set(), left: 200_000 + 60 * length, isTooDeep: false }
  if (typeof value === 'string') readLine(value, search, 0)
  else if (Array.isArray(value) && value.every((word) => typeof word === 'string'))
    addCommand(value, search, 0)
  return search.isTooDeep || search.left < 0 ? undefined : [...search.found]
}

/** `left` is the number of characters that may still be read. It limits the time. */
type Search = { readonly found: Set<string>; left: number; isTooDeep: boolean }

const maxDepth = 8
/**
 * After a program that runs another program, each word may start a command. A command that starts within this many
 * words is recorded in full; a command that starts later is recorded only in part.
 */
const nearWords = 20
const partLength = 300

/** Programs that run the command which follows them. */
const runners = new Set(
  `command builtin exec env sudo doas nohup nice ionice time timeout stdbuf setsid xargs parallel watch busybox toybox chroot
   strace ltrace unshare nsenter flock script su runuser ssh find fd if then else elif do while until ! { coproc nix-shell`.split(
    /\s+/,
  ),
)
/** Programs that take a command line as one argument. */
const shells = /^((ba|z|da|k|a|fi|tc|c)?sh|eval|su|runuser|ssh|watch|xargs|parallel|script|flock|nix-shell)$/

function addCommand(given: readonly string[], search: Search, depth: number): void {
  const words = given.slice(given.findIndex((word) => !/^\w+\+?=/.test(word)))
  const [program = '', ...args] = words
  if (program === '' || search.left < 0) return
  const name = program.slice(program.lastIndexOf('/') + 1)
  add(words.join(' '), search)
  if (name !== program) add([name, ...args].join(' '), search)
  if (name === 'eval') readLine(args.join(' '), search, depth + 1)
  if (shells.test(name)) for (const word of args) if (/\s/.test(word)) readLine(word, search, depth + 1)
  if (!runners.has(name)) return
  if (depth >= maxDepth) search.isTooDeep = true
  for (let index = 0; index < args.length && search.left >= 0 && !search.isTooDeep; index++) {
    const isRunner = runners.has(args[index] ?? '') || shells.test(args[index] ?? '')
    if (index < nearWords || isRunner) addCommand(args.slice(index), search, depth + 1)
    else addPart(args, index, search)
  }
}

function addPart(args: readonly string[], index: number, search: Search): void {
  const [program = '', ...more] = args.slice(index, index + nearWords)
  const name = program.slice(program.lastIndexOf('/') + 1)
  add([name, ...more].join(' ').slice(0, partLength), search)
}

function add(command: string, search: Search): void {
  search.left -= command.length
  search.found.add(command)
}

/** Parses words, quotes and separators of a line as a shell does. */
function readLine(line: string, search: Search, depth: number): void {
  search.left -= line.length
  if (depth > maxDepth) search.isTooDeep = true
  if (search.isTooDeep) return
  const text = line.replace(/\$\{?IFS\}?/g, ' ').replaceAll('\\\n', '')
  let words: string[] = []
  let word: string | undefined
  let isTarget = false
  const endWord = () => {
    if (word !== undefined && !isTarget) words.push(...braced(word))
    if (word !== undefined) isTarget = false
    word = undefined
  }
  const endCommand = () => {
    endWord()
    addCommand(words, search, depth)
    words = []
  }
  for (let at = 0; at < text.length && search.left >= 0; ) {
    const char = text.charAt(at)
    const piece = quotedAt(text, at)
    if (piece) {
      word = (word ?? '') + piece.words
      for (const inner of piece.inner) readLine(inner, search, depth + 1)
      at += piece.length
      continue
    }
    at++
    if (char === ' ' || char === '\t') endWord()
    else if (/[;&|\n\r()]/.test(char)) endCommand()
    else if (char === '<' || char === '>') {
      // A number before a redirection is a stream; the word after the redirection is a file.
      if (/^\d+$/.test(word ?? '')) word = undefined
      endWord()
      isTarget = true
      while (/[<>&|-]/.test(text.charAt(at))) at++
    } else word = (word ?? '') + char
  }
  endCommand()
}

/** Splits `{rm,-rf,x}` into three words. */
function braced(word: string): string[] {
  const [, list] = /^\{(.*,.*)\}$/.exec(word) ?? []
  return list === undefined ? [word] : list.split(',')
}

type Piece = { readonly words: string; readonly length: number; readonly inner: readonly string[] }

/** The piece at a position: a quoted text, an escaped character, or a substitution. */
function quotedAt(text: string, at: number): Piece | undefined {
  const char = text.charAt(at)
  if (char === '\\') return { words: text.charAt(at + 1), length: 2, inner: [] }
  if (char === "'") {
    const words = until(text, at + 1, "'")
    return { words, length: words.length + 2, inner: [] }
  }
  if (char === '$' && text.charAt(at + 1) === "'") {
    const [, words = ''] = /^((?:\\[\s\S]|[^'\\])*)/.exec(text.slice(at + 2)) ?? []
    return { words: decoded(words), length: words.length + 3, inner: [] }
  }
  if (char === '`') {
    const inner = until(text, at + 1, '`')
    return { words: `\`${inner}\``, length: inner.length + 2, inner: [inner] }
  }
  if (char === '$' && text.charAt(at + 1) === '(') {
    const inner = untilClosed(text, at + 2)
    return { words: `$(${inner})`, length: inner.length + 3, inner: [inner] }
  }
  return char === '"' ? doubleQuoted(text, at) : undefined
}

function doubleQuoted(text: string, start: number): Piece {
  let words = ''
  const inner: string[] = []
  let at = start + 1
  while (at < text.length && text.charAt(at) !== '"') {
    const char = text.charAt(at)
    const piece = char === '\\' || char === '`' || text.startsWith('$(', at) ? quotedAt(text, at) : undefined
    words += piece?.words ?? char
    inner.push(...(piece?.inner ?? []))
    at += piece?.length ?? 1
  }
  return { words, length: at + 1 - start, inner }
}

function until(text: string, from: number, end: string): string {
  const found = text.indexOf(end, from)
  return text.slice(from, found < 0 ? text.length : found)
}

/**
 * The text up to the closing bracket. A bracket in quotes counts too: the rest is then read as commands of the line.
 */
function untilClosed(text: string, from: number): string {
  let open = 1
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '(') open++
    if (char === ')' && --open === 0) return text.slice(from, at)
  }
  return text.slice(from)
}

/** Decodes `$'\x72m'`. */
function decoded(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|([0-7]{1,3})|([\s\S]))/gi,
    (_, hex?: string, unicode?: string, octal?: string, plain = '') => {
      const code = hex ?? unicode
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
      return { n: '\n', t: '\t', r: '\r' }[plain as string] ?? plain
    },
  )
}
