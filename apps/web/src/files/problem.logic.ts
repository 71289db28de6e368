import { ParleyError } from '@parley/protocol'
import { errorText } from '../base/error-text.logic.ts'
import { visible } from '../base/format.logic.ts'

export type FileProblem = {
  readonly title: string
  readonly text: string
  /** Files with the same name are searched for and listed. */
  readonly isMissing?: boolean
  /** The file can be read with the scope `terminal`. */
  readonly needsTerminal?: boolean
}

type Asked = { readonly path: string; readonly folder: string; readonly rev?: string | undefined }

const unlisted: Readonly<Record<string, string>> = {
  ignored: 'git ignores this file.',
  'git-directory': 'This file is in a git directory.',
  'no-repository': 'The folder of this session is in no git repository.',
}

/** The reason why a file or folder cannot be shown, and the scope or folder that would be needed. */
export function fileProblem(error: unknown, { path, folder, rev }: Asked): FileProblem {
  const { code, details } = error instanceof ParleyError ? error : {}
  if (code === 'forbidden' && typeof details?.unlisted === 'string') {
    const text = unlisted[details.unlisted] ?? 'git does not list this file.'
    return { title: 'Not shown', text, needsTerminal: true }
  }
  if (code === 'forbidden' && details?.scope === 'terminal') {
    return { title: 'Not shown', text: 'git does not list this file.', needsTerminal: true }
  }
  if (code === 'forbidden' && details?.outside === true) {
    const text = `${visible(path)} is outside this session. Parley shows only files in ${visible(folder)} and in the session’s additional folders. For others, open a terminal or another session.`
    return { title: 'Outside the session’s folders', text }
  }
  if (code === 'not_found' && typeof details?.gone === 'string') {
    const text = `${visible(details.gone)} does not exist any more. The conversation can still be read.`
    return { title: 'The folder is gone', text }
  }
  if (code === 'not_found' && rev !== undefined) {
    const text =
      details?.rev === undefined
        ? `${visible(path)} did not exist in this version.`
        : 'This version is no longer stored.'
    return { title: 'Not in this version', text }
  }
  if (code === 'not_found') {
    const text = `${visible(path)} is not in ${visible(folder)}. It may have been moved or deleted, or the path belongs to another folder.`
    return { title: 'No such file', text, isMissing: true }
  }
  return { title: 'This file cannot be shown', text: visible(errorText(error)) }
}
