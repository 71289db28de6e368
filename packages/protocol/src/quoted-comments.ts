import type { CheckLog, PullRequestCheck, PullRequestComment } from './branch.ts'
import { onOneLine, withoutHidden } from './hidden-characters.ts'

/** Formats comments as the draft of a prompt. Every line by another author is marked as a quotation. */
export function quotedComments(comments: readonly PullRequestComment[]): string {
  const parts = comments.map(({ author, text, path, line }) => {
    const where = path === undefined ? '' : ` on ${plain(path)}${line === undefined ? '' : `:${line}`}`
    return `${plain(author)}${where}:\n\n${quoted(text)}`
  })
  return ['Comments of other people on the pull request, quoted:', ...parts].join('\n\n')
}

/** Formats failed checks as the draft of a prompt. */
export function quotedChecks(checks: readonly PullRequestCheck[]): string {
  const lines = checks.map(({ name, text, url }) => {
    return quoted([name, text, url].filter((one) => one !== undefined && one !== '').join(' · '))
  })
  return ['These checks of the pull request failed. Their output, quoted:', ...lines].join('\n\n')
}

/** The logs of failed checks as a draft of a prompt. */
export function quotedLogs(logs: readonly CheckLog[]): string {
  const parts = logs.map(({ name, text, cut, problem }) => {
    const what = cut ? ' (only the end)' : ''
    return `${plain(name)}${what}:\n\n${quoted(problem ?? text)}`
  })
  return ['The logs of failed checks of the pull request, quoted:', ...parts].join('\n\n')
}

const quoted = (text: string) =>
  withoutHidden(text)
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

const plain = (text: string) => onOneLine(text).slice(0, 200)
