import type { FileContent } from '@parley/protocol'

/** The ways to show a text besides its source. */
export type Rendering = 'markdown' | 'picture'

/** The length above which Markdown is shown as source: rendering it would block the page. */
const maxMarkdown = 300_000
const maxPicture = 1_000_000

export function renderingOf(file: FileContent): Rendering | undefined {
  if (file.type !== 'text' || file.cut) return undefined
  if (/\.(md|markdown|mdown)$/i.test(file.path) && file.text.length <= maxMarkdown) return 'markdown'
  return /\.svg$/i.test(file.path) && file.text.length <= maxPicture ? 'picture' : undefined
}

/** The address of an SVG for an `img` element, in which a browser runs no scripts and fetches nothing. */
export function svgAddress(text: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text.toWellFormed())}`
}
