const prose = `The parser reads one line at a time, so a half-written record at the end of the file is left where it is.
I moved the check before the loop: "count" was read after it had been reset.

\`\`\`ts
const next = items.at(-1) ?? { id: 'none', size: 0 }
if (next.size > limit) throw new RangeError(\`too large: \${next.size}\`)
\`\`\`

Two tests failed before this change and pass now – the naïve version dropped the last row. `

const words = prose.match(/\s*\S{1,20}/gu) ?? []

/** `count` pieces of about six characters, as an agent streams them: prose, quotes, new lines and code. */
export function pieces(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => words[(from * 7 + index) % words.length]!)
}

export function text(from: number, length: number): string {
  let made = ''
  for (let index = 0; made.length < length; index++) made += words[(from * 7 + index) % words.length]
  return made
}
