import type { EventOf } from './event.ts'

/** The sentence shown when an agent has compacted its context. */
export function compactionText({ before, after, summary }: EventOf<'context.compacted'>): string {
  const sizes =
    before !== undefined && after !== undefined ? ` from ${amount(before)} to ${amount(after)} tokens` : ''
  const said = `The conversation was compacted${sizes}.`
  return summary ? `${said}\n\n${summary}` : said
}

function amount(tokens: number): string {
  return tokens < 1000 ? String(tokens) : `${Math.round(tokens / 1000)}k`
}
