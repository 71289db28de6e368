import { ParleyError } from '@parley/protocol'

/**
 * The part of the tar format (POSIX ustar) that a backup needs: regular files with short names. Reading refuses
 * everything else, such as links, folders and names with a path, so that an archive cannot write outside the target
 * folder.
 */

const blockSize = 512
/** The largest size that the header can hold as octal digits. Larger sizes are written as binary numbers. */
const maxOctal = 0o77777777777

export function tarHeader(name: string, bytes: number, modifiedAt: number): Buffer {
  const header = Buffer.alloc(blockSize)
  header.write(name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (bytes <= maxOctal) header.write(`${octal(bytes, 11)}\0`, 124)
  else {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(bytes), 128)
  }
  header.write(`${octal(Math.floor(modifiedAt / 1000), 11)}\0`, 136)
  header.write('0', 156)
  header.write('ustar\u000000', 257)
  header.write(`${octal(checksumOf(header), 6)}\0 `, 148)
  return header
}

/** The zeros after a file of this size, which align the next header to a block. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((blockSize - (bytes % blockSize)) % blockSize)
}

export const tarEnd = Buffer.alloc(blockSize * 2)

export type TarEntry = { readonly name: string; readonly bytes: number }

/** Parses a header; undefined at the end of the archive. */
function entryOf(header: Buffer): TarEntry | undefined {
  if (header.every((byte) => byte === 0)) return undefined
  const text = (start: number, length: number) => {
    const field = header.subarray(start, start + length)
    const end = field.indexOf(0)
    return field.subarray(0, end < 0 ? length : end).toString('utf8')
  }
  if (Number.parseInt(text(148, 8), 8) !== checksumOf(header)) throw damaged('a checksum is wrong')
  const name = text(0, 100)
  const isFile = (header[156] === 0x30 || header[156] === 0) && text(157, 100) === '' && text(345, 155) === ''
  if (!isFile || !/^[\w.-]+$/.test(name))
    throw damaged(`it contains ${JSON.stringify(name)}, which is not a plain file`)
  const size = header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : Number.parseInt(text(124, 12), 8)
  if (!Number.isSafeInteger(size) || size < 0) throw damaged('a size is wrong')
  return { name, bytes: size }
}

/** Reads an archive from a stream of its bytes. Each entry must be read before the next entry. */
export class TarReader {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)
  /** The number of bytes of the current entry that were not read, and the number of bytes of its padding. */
  #left = 0
  #padding = 0

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** The next entry; undefined at the end of the archive. */
  async next(): Promise<TarEntry | undefined> {
    for await (const _ of this.content());
    if (this.#padding > 0) await this.#take(this.#padding)
    const entry = entryOf(await this.#take(blockSize))
    this.#left = entry?.bytes ?? 0
    this.#padding = tarPadding(this.#left).length
    return entry
  }

  /** The content of the current entry, in parts. */
  async *content(): AsyncGenerator<Buffer> {
    while (this.#left > 0) {
      const part = await this.#some(this.#left)
      this.#left -= part.length
      yield part
    }
  }

  async #take(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let missing = bytes; missing > 0; ) {
      const part = await this.#some(missing)
      missing -= part.length
      parts.push(part)
    }
    return Buffer.concat(parts)
  }

  /** Reads at least one byte and at most `most` bytes. */
  async #some(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next()
      if (done) throw damaged('it ends too early')
      this.#rest = value
    }
    const part = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }
}

export function damaged(why: string, cause?: unknown): ParleyError {
  return new ParleyError(
    'validation_error',
    `This is not a complete backup of Parley: ${why}. Nothing was changed.`,
    {
      cause,
    },
  )
}

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')

/** The sum of all bytes, where the checksum itself counts as spaces. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0)
}
