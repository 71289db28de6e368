/**
 * The encoding of the search index in PostgreSQL. A word is a string of the bytes of its UTF-8 text, one character per
 * byte, so that words have the order of bytes, as in the database. The numbers of the entries that contain a word are
 * stored in rising order, each as the difference from the number before it.
 */

/** Some words that follow each other, with the numbers of their entries. */
export type WordRow = { readonly word: string; readonly body: Buffer }

/** An entry of the index, without its words. `session` is the key of the session in the index. */
export type NumberedEntry = {
  readonly number: number
  readonly session: number
  readonly seq: number
  readonly kind: number
}

export function bytesOfWord(word: string): string {
  return Buffer.from(word, 'utf8').toString('latin1')
}

/** Encodes words as rows of about `rowBytes` bytes. The words must be added in their order. */
export class WordRows {
  readonly #rows: WordRow[] = []
  readonly #rowBytes: number
  readonly #numbers = new Bytes()
  #first = ''
  #last = ''
  #row = new Bytes()

  constructor(rowBytes: number) {
    this.#rowBytes = rowBytes
  }

  /** Adds a word with numbers in rising order. */
  add(word: string, numbers: readonly number[]): void {
    this.#numbers.length = 0
    let last = 0
    for (const number of numbers) {
      this.#numbers.integer(number - last)
      last = number
    }
    this.#append(word, this.#numbers.taken())
  }

  /** Adds a word with lists of encoded numbers, of which each number is larger than those of the lists before it. */
  addEncoded(word: string, lists: readonly Buffer[]): void {
    if (lists.length === 1 && lists[0]) return this.#append(word, lists[0])
    this.#numbers.length = 0
    let last = 0
    for (const list of lists) {
      const reader = new Reader(list)
      const first = reader.integer()
      this.#numbers.integer(first - last)
      this.#numbers.append(list.subarray(reader.at))
      last = first
      while (!reader.isAtEnd) last += reader.integer()
    }
    this.#append(word, this.#numbers.taken())
  }

  /** All rows. No word may be added afterwards. */
  ended(): readonly WordRow[] {
    this.#endRow()
    return this.#rows
  }

  #append(word: string, numbers: Buffer): void {
    if (this.#row.length >= this.#rowBytes) this.#endRow()
    if (this.#row.length === 0) this.#first = word
    const shared = this.#row.length === 0 ? 0 : sharedLength(this.#last, word)
    this.#row.integer(shared)
    this.#row.integer(word.length - shared)
    this.#row.text(shared === 0 ? word : word.slice(shared))
    this.#row.integer(numbers.length)
    this.#row.append(numbers)
    this.#last = word
  }

  #endRow(): void {
    if (this.#row.length > 0) this.#rows.push({ word: this.#first, body: this.#row.taken() })
    this.#row = new Bytes()
  }
}

/** The words of a row, each with its encoded numbers. */
export function* wordsIn(body: Buffer): Generator<[word: string, numbers: Buffer]> {
  const reader = new Reader(body)
  let word = ''
  while (!reader.isAtEnd) {
    const shared = reader.integer()
    word = word.slice(0, shared) + reader.bytes(reader.integer()).toString('latin1')
    yield [word, reader.bytes(reader.integer())]
  }
}

/** The encoded numbers of the word in a row, or of all words that start with it. */
export function numbersOfWord(body: Buffer, word: Buffer, isPrefix: boolean): Buffer[] {
  const reader = new Reader(body)
  const found: Buffer[] = []
  // The length of the common beginning of the word and the current word of the row.
  let common = 0
  while (!reader.isAtEnd) {
    const shared = reader.integer()
    const suffix = reader.bytes(reader.integer())
    if (shared <= common) {
      common = shared
      while (common < word.length && suffix[common - shared] === word[common]) common++
    }
    const numbers = reader.bytes(reader.integer())
    if (common === word.length && (isPrefix || shared + suffix.length === common)) found.push(numbers)
  }
  return found
}

/** True if each list of encoded numbers begins above the numbers of the lists before it. */
export function areInOrder(lists: readonly Buffer[]): boolean {
  let last = -1
  return lists.every((list) => {
    const reader = new Reader(list)
    const first = reader.integer()
    const isAbove = first > last
    last = first
    while (!reader.isAtEnd) last += reader.integer()
    return isAbove
  })
}

/** Appends the encoded numbers to `to`. */
export function decodeNumbers(encoded: Buffer, to: number[]): void {
  const reader = new Reader(encoded)
  let last = 0
  while (!reader.isAtEnd) {
    last += reader.integer()
    to.push(last)
  }
}

/** Encodes entries, which must be in the order of their numbers. */
export function encodeEntries(entries: readonly NumberedEntry[]): Buffer {
  const bytes = new Bytes(entries.length * 4)
  let last: NumberedEntry = nothing
  for (const entry of entries) {
    bytes.integer(entry.number - last.number)
    bytes.signed(entry.session - last.session)
    bytes.signed(entry.seq - last.seq)
    bytes.integer(entry.kind)
    last = entry
  }
  return bytes.taken()
}

export function decodeEntries(encoded: Buffer): NumberedEntry[] {
  const reader = new Reader(encoded)
  const entries: NumberedEntry[] = []
  let last: NumberedEntry = nothing
  while (!reader.isAtEnd) {
    const number = last.number + reader.integer()
    const session = last.session + reader.signed()
    last = { number, session, seq: last.seq + reader.signed(), kind: reader.integer() }
    entries.push(last)
  }
  return entries
}

const nothing: NumberedEntry = { number: 0, session: 0, seq: 0, kind: 0 }

/** Bytes that grow. An integer is stored in groups of seven bits, the lowest first. */
class Bytes {
  length = 0
  #buffer: Buffer

  constructor(expected = 1_024) {
    this.#buffer = Buffer.allocUnsafe(expected + 16)
  }

  integer(value: number): void {
    this.#reserve(10)
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#buffer[this.length++] = (rest % 128) + 128
    this.#buffer[this.length++] = rest
  }

  signed(value: number): void {
    this.integer(value < 0 ? -2 * value - 1 : 2 * value)
  }

  /** Characters of one byte each. */
  text(text: string): void {
    this.#reserve(text.length)
    this.length += this.#buffer.write(text, this.length, 'latin1')
  }

  append(bytes: Buffer): void {
    this.#reserve(bytes.length)
    this.length += bytes.copy(this.#buffer, this.length)
  }

  /** The bytes, which must not change afterwards. */
  taken(): Buffer {
    return this.#buffer.subarray(0, this.length)
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(2 * (this.length + count))
    this.#buffer.copy(larger, 0, 0, this.length)
    this.#buffer = larger
  }
}

class Reader {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  integer(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  signed(): number {
    const value = this.integer()
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2
  }

  bytes(length: number): Buffer {
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }
}

function sharedLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
