/** Finds paths of files in texts, such as the output of a compiler or the stack of an error. */

/** A path in a text, with the line number if the text gives it. */
export type NamedPath = { readonly path: string; readonly line?: number | undefined }
export type PathPiece = { readonly text: string; readonly to?: NamedPath }

const name = String.raw`\.?[\w@+$~-][\w.@+$~-]*`
const folders = `(?:${name}/)`
const extension = String.raw`\.[A-Za-z][A-Za-z0-9]{0,9}`
/** `/w/a.ts`, `./a.ts`, `src/a.ts` and `a.ts`. */
const path = String.raw`(?:\.{0,2}/)?${folders}*${name}`
/** `:12`, `:12:5`, `(12,5)` and `", line 12`. */
const place = String.raw`(?::(\d{1,7})(?::\d+)?|\((\d{1,7}),\d+\)|", line (\d{1,7}))`
// A match must not follow a character of a path; otherwise the time is quadratic in the length of a run.
const pattern = new RegExp(String.raw`(?<![\w/.:@%+$~-])(?:file://)?(${path})${place}?(?![\w/])`, 'g')
const hasExtension = new RegExp(`${extension}$`)

/** The maximum length of a line that is searched: a longer line is data. */
const longestLine = 2_000

/**
 * Splits a text at its paths. A path counts only if it is in the folder of the session, or if it is relative,
 * has an extension, and has a folder or a line number.
 */
export function pathPieces(text: string, folder: string): readonly PathPiece[] {
  if (text.length > longestLine && !text.includes('\n')) return [{ text }]
  const pieces: PathPiece[] = []
  let from = 0
  for (const match of text.matchAll(pattern)) {
    const to = pathIn(match, folder)
    if (!to) continue
    if (match.index > from) pieces.push({ text: text.slice(from, match.index) })
    pieces.push({ text: match[0], to })
    from = match.index + match[0].length
  }
  if (from < text.length) pieces.push({ text: text.slice(from) })
  return pieces
}

/** The path, if the whole text is a path, such as that of a code span in Markdown. */
export function pathOf(text: string, folder: string): NamedPath | undefined {
  const pieces = pathPieces(text, folder)
  return pieces.length === 1 ? pieces[0]?.to : undefined
}

/** The path of a relative link, with the line number from `#L12`. */
export function pathOfLink(href: string): NamedPath | undefined {
  if (/^([a-z][a-z0-9+.-]*:|\/\/|#|\?)/i.test(href)) return undefined
  const [, written = '', line] = /^([^#?]*)(?:\?[^#]*)?(?:#L(\d{1,7}).*|#.*)?$/.exec(href) ?? []
  const found = /^(.*?)(?::(\d{1,7}))?$/s.exec(decoded(written))
  const path = found?.[1] ?? ''
  return path === '' ? undefined : named(path, line ?? found?.[2])
}

function pathIn(match: RegExpMatchArray, folder: string): NamedPath | undefined {
  const [, found = '', ...lines] = match
  const line = lines.find((one) => one !== undefined)
  if (found.startsWith('/')) return isBelow(found, folder) ? named(found, line) : undefined
  if (!hasExtension.test(found)) return undefined
  return line !== undefined || found.includes('/') ? named(found, line) : undefined
}

function isBelow(path: string, folder: string): boolean {
  return folder !== '' && path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

function named(path: string, line: string | undefined): NamedPath {
  return line === undefined || Number(line) < 1 ? { path } : { path, line: Number(line) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
