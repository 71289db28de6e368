export type ChunksRead = { readonly chunks: number; readonly seconds: number; readonly text: string }

const lineFeed = 10

/**
 * Reads a UI message stream to its end, or until it has `enough` chunks, without parsing them, so that the figure
 * measures the sender. The text is kept only if `keep` is set.
 */
export async function readChunks(
  response: () => Promise<Response>,
  { enough = Number.POSITIVE_INFINITY, keep = false } = {},
): Promise<ChunksRead> {
  const begun = performance.now()
  const { body, ok, status } = await response()
  if (!ok || !body) throw new Error(`The stream was refused: ${status}.`)
  const kept: Uint8Array[] = []
  let chunks = 0
  let last = 0
  for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) {
    for (const byte of bytes) {
      if (byte === lineFeed && last === lineFeed) chunks++
      last = byte === lineFeed && last === lineFeed ? 0 : byte
    }
    if (keep) kept.push(bytes)
    if (chunks >= enough) break
  }
  const seconds = (performance.now() - begun) / 1000
  return { chunks, seconds, text: Buffer.concat(kept).toString('utf8') }
}

/** The chunks in the text of a UI message stream, as lines, without the end marker. */
export function chunkLines(text: string): string[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => frame.slice('data: '.length))
}
