export type ChunksRead = { readonly chunks: number; readonly seconds: number; readonly text: string }

const lineFeed = 10

/**
 * Reads a UI message stream to its end, or until it has `enough` chunks, without looking into them: what is measured is
 * who sends. Only with `keep` is the text kept.
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

/** The chunks of such a text as lines, without the mark of its end. */
export function chunkLines(text: string): string[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => frame.slice('data: '.length))
}
