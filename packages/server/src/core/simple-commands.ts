/**
 * The simple commands that a command line would run, each as its words with one blank between them: those of lists,
 * pipelines, subshells and substitutions, without variables set in front, behind `sudo`, `env`, `sh -c` and the like, the
 * program without its folder. For rules that refuse, so in doubt there is one more. It is no shell: what is put together
 * while it runs (`$x`, a script in a file) is not seen.
 */
export function simpleCommands(value: unknown): string[] {
  const found = new Set<string>()
  if (typeof value === 'string') readLine(value, found, 0)
  else if (Array.isArray(value) && value.every((word) => typeof word === 'string'))
    addCommand(value, found, 0)
  return [...found]
}

const deepest = 5
const most = 2_000

/** They run what follows them. */
const runners = new Set(
  `command builtin exec env sudo doas nohup nice ionice time timeout stdbuf setsid xargs parallel watch busybox toybox chroot
   strace ltrace unshare nsenter flock script su runuser ssh find fd if then else elif do while until ! { coproc nix-shell`.split(
    /\s+/,
  ),
)
/** They take a line as a word. */
const shells = /^((ba|z|da|k|a|fi|tc|c)?sh|eval|su|runuser|ssh|watch|xargs|parallel|script|flock|nix-shell)$/

function addCommand(given: readonly string[], found: Set<string>, depth: number): void {
  const words = given.slice(given.findIndex((word) => !/^\w+\+?=/.test(word)))
  const [program = '', ...args] = words
  if (program === '' || found.size >= most) return
  const name = program.slice(program.lastIndexOf('/') + 1)
  found.add(words.join(' '))
  found.add([name, ...args].join(' '))
  if (depth >= deepest) return
  if (name === 'eval') readLine(args.join(' '), found, depth + 1)
  if (shells.test(name)) for (const word of args) if (/\s/.test(word)) readLine(word, found, depth + 1)
  if (!runners.has(name)) return
  for (const index of args.keys()) addCommand(args.slice(index), found, depth + 1)
}

/** Reads a line as a shell would, as far as words, quotes and separators go. */
function readLine(line: string, found: Set<string>, depth: number): void {
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
    addCommand(words, found, depth)
    words = []
  }
  for (let at = 0; at < text.length && found.size < most; ) {
    const char = text.charAt(at)
    const piece = quotedAt(text, at)
    if (piece) {
      word = (word ?? '') + piece.words
      if (depth < deepest) for (const inner of piece.inner) readLine(inner, found, depth + 1)
      at += piece.length
      continue
    }
    at++
    if (char === ' ' || char === '\t') endWord()
    else if (/[;&|\n\r()]/.test(char)) endCommand()
    else if (char === '<' || char === '>') {
      // A number in front says which stream, the word behind it a file.
      if (/^\d+$/.test(word ?? '')) word = undefined
      endWord()
      isTarget = true
      while (/[<>&|-]/.test(text.charAt(at))) at++
    } else word = (word ?? '') + char
  }
  endCommand()
}

/** `{rm,-rf,x}` is three words. */
function braced(word: string): string[] {
  const [, list] = /^\{(.*,.*)\}$/.exec(word) ?? []
  return list === undefined ? [word] : list.split(',')
}

type Piece = { readonly words: string; readonly length: number; readonly inner: readonly string[] }

/** What stands at a place as one piece: a quoted text, an escaped character, a substitution. */
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

/** Up to the bracket that closes. One in quotes is taken for one, too: the rest is then read as commands of the line. */
function untilClosed(text: string, from: number): string {
  let open = 1
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '(') open++
    if (char === ')' && --open === 0) return text.slice(from, at)
  }
  return text.slice(from)
}

/** `$'\x72m'` */
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
