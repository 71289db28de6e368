/**
 * Encodes WebSocket text frames once, to be written to every reader. A server's frames are not masked, so without
 * compression the bytes are the same for all readers.
 */
export function encodeFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  let size = 0
  for (const length of lengths) size += headerSize(length) + length
  const frames = Buffer.allocUnsafe(size)
  let at = 0
  texts.forEach((text, index) => {
    at = writeHeader(frames, at, lengths[index]!)
    at += frames.write(text, at)
  })
  return frames
}

const finalText = 0x81

function headerSize(length: number): number {
  if (length < 126) return 2
  return length < 65_536 ? 4 : 10
}

function writeHeader(frames: Buffer, at: number, length: number): number {
  frames[at] = finalText
  if (length < 126) {
    frames[at + 1] = length
    return at + 2
  }
  if (length < 65_536) {
    frames[at + 1] = 126
    return frames.writeUInt16BE(length, at + 2)
  }
  frames[at + 1] = 127
  return frames.writeBigUInt64BE(BigInt(length), at + 2)
}
