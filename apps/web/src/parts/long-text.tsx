import { memo } from 'react'

/** A text of any length inside a `pre`. The browser skips the layout of chunks that are off screen. */
export const LongText = memo(function LongText({ text }: { text: string }) {
  const chunks = chunksOf(text)
  if (chunks.length === 1) return text
  return chunks.map((chunk, index) => (
    <span
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
      key={index}
      className="block [contain-intrinsic-size:auto_60rem] [content-visibility:auto]"
    >
      {chunk}
    </span>
  ))
})

const size = 8000

/** Splits a text into chunks, at a line end if one is near. Each chunk is a block, so the line end itself is dropped. */
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
