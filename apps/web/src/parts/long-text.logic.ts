const size = 8000

/**
 * Splits a text into chunks, at a line end if there is one nearby. Each chunk is a block, so the line end
 * itself is dropped.
 */
export function chunksOf(text: string): readonly string[] {
  const chunks: string[] = []
  for (let from = 0; from < text.length; ) {
    const newline = text.lastIndexOf('\n', from + size)
    const whole = from + size >= text.length
    const end = whole ? text.length : newline > from ? newline : from + size
    chunks.push(text.slice(from, end))
    from = !whole && newline > from ? end + 1 : end
  }
  return chunks.length === 0 ? [''] : chunks
}
