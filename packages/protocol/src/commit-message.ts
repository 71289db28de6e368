import { z } from 'zod'
import { onOneLine, withoutHidden } from './hidden-characters.ts'

export const SuggestedMessage = z.object({
  message: z.string(),
  by: z.enum(['agent', 'title']).meta({
    description:
      'agent: the agent of the session wrote the message. title: the message was made from the title or the files',
  }),
  why: z.string().optional().meta({ description: 'With title: why the agent wrote no message' }),
})
export type SuggestedMessage = z.infer<typeof SuggestedMessage>

const longestSubject = 72

/** A message for a commit, from the title of the session or, if it has none, from the changed files. */
export function suggestedMessage(title: string, files: readonly { readonly path: string }[]): string {
  const [given = ''] = title.trim().split(/[\r\n\u2028\u2029]/, 1)
  const line = onOneLine(given)
  const subject = line === '' ? changeOf(files) : line
  const characters = [...subject]
  if (characters.length <= longestSubject) return subject
  const cut = characters.slice(0, longestSubject - 1).join('')
  const end = cut.lastIndexOf(' ')
  const short = end > longestSubject / 2 ? cut.slice(0, end) : cut
  return `${short.trimEnd()}…\n\n${subject}`
}

function changeOf(files: readonly { readonly path: string }[]): string {
  const [first, ...others] = files.map(({ path }) => onOneLine(path.split('/').at(-1) ?? path))
  if (first === undefined) return ''
  if (others.length === 0) return `Change ${first}`
  return others.length === 1
    ? `Change ${first} and ${others[0]}`
    : `Change ${first} and ${others.length} other files`
}

const longestMessage = 4_000
/** Lines with which git and its hosts name further authors, testers and reviewers of a commit. */
const namesPerson = /^\s*[\p{L}\d-]+-by\s*:/iu

/**
 * The message in the answer of an agent, or an empty text. Hidden characters are removed, and so are lines that name
 * people, such as `Co-authored-by`: an agent must not add authors.
 */
export function messageInAnswer(answer: string): string {
  const text = withoutHidden(answer.replace(/\r\n?|[\u2028\u2029]/g, '\n'))
    .replaceAll('\t', ' ')
    .trim()
  const [, fenced] = /^```[^\n]*\n([\s\S]*?)\n?```$/.exec(text) ?? []
  const lines = (fenced ?? text).split('\n').map((line) => line.trimEnd())
  const kept = lines.filter((line) => !namesPerson.test(line)).join('\n')
  const short = [...kept.replace(/\n{3,}/g, '\n\n').trim()].slice(0, longestMessage)
  return short.join('').trimEnd()
}
