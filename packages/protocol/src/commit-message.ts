const longestSubject = 72

/** A message for a commit, from the title of the session or, if it has none, from the changed files. */
export function suggestedMessage(title: string, files: readonly { readonly path: string }[]): string {
  const line = title.trim().split(/[\r\n]/, 1)[0] ?? ''
  const subject = line === '' ? changeOf(files) : line
  const characters = [...subject]
  if (characters.length <= longestSubject) return subject
  const cut = characters.slice(0, longestSubject - 1).join('')
  const end = cut.lastIndexOf(' ')
  const short = end > longestSubject / 2 ? cut.slice(0, end) : cut
  return `${short.trimEnd()}…\n\n${subject}`
}

function changeOf(files: readonly { readonly path: string }[]): string {
  const [first, ...others] = files.map(({ path }) => path.split('/').at(-1) ?? path)
  if (first === undefined) return ''
  if (others.length === 0) return `Change ${first}`
  return others.length === 1
    ? `Change ${first} and ${others[0]}`
    : `Change ${first} and ${others.length} other files`
}
