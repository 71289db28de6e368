import { memo } from 'react'
import { chunksOf } from './long-text.logic.ts'

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
