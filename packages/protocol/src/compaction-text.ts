import type { EventOf } from './event.ts'

/** What a reader is told when an agent has made its memory of the conversation shorter. */
export function compactionText({ before, after, summary }: EventOf<'context.compacted'>): string {
  const sizes =
    before !== undefined && after !== undefined ? ` from ${amount(before)} to ${amount(after)} tokens` : ''
  const said = `The conversation was compacted${sizes}.`
  return summary ? `${said}\n\n${summary}` : said
}

function amount(tokens: number): string {
  return tokens < 1000 ? String(tokens) : `${Math.round(tokens / 1000)}k`
}
