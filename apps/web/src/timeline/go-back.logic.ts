import {
  hasCode,
  type LeftReason,
  leftReasonTexts,
  type RewindFile,
  type RewindPreview,
} from '@parley/protocol'
import { errorText } from '../base/error-text.logic.ts'
import { plural } from '../base/format.logic.ts'

/**
 * The server leaves files alone by default for several reasons. For these reasons, a person can tick the file
 * nevertheless.
 */
const overruled: ReadonlySet<LeftReason | undefined> = new Set([undefined, 'changed-since', 'unclear'])

export const canRestore = ({ left }: RewindFile): boolean => overruled.has(left)

export const tickedFirst = ({ files }: RewindPreview): ReadonlySet<string> =>
  new Set(files.filter(({ left }) => left === undefined).map(({ path }) => path))

const actionTexts: Readonly<Record<RewindFile['action'], string>> = {
  change: 'Restore',
  create: 'Create again',
  delete: 'Delete',
}

/** The effect on a file if it is ticked, and the reason why it is not ticked at first. */
export function fileText({ action, left }: RewindFile): string {
  return left ? leftReasonTexts[left] : actionTexts[action]
}

/** The fields of session.rewind that name files. Without a choice of the person, the server chooses. */
export function chosenFiles(
  preview: RewindPreview,
  ticked: ReadonlySet<string>,
): { readonly seen: string; readonly paths?: string[] } {
  const { seen } = preview
  const first = tickedFirst(preview)
  const isSame = first.size === ticked.size && [...first].every((path) => ticked.has(path))
  return isSame ? { seen } : { seen, paths: [...ticked] }
}

/** Why the preview lists no files. */
export function noFilesText({ late, leftOut }: RewindPreview): string {
  if (late)
    return 'No files can be restored: a command had begun before the snapshot was complete, so the changes may be in the snapshot already.'
  return leftOut.length > 0
    ? 'No files can be restored: the snapshots contain no changes, and they leave out some files.'
    : 'There are no files to restore: since this prompt, the session has changed none, or they are as they were before it.'
}

/** Why the files cannot be rewound. */
export function filesProblem(thrown: unknown): string {
  const isMissing = hasCode(thrown, 'conflict') && thrown.details?.missing === 'snapshot'
  return isMissing
    ? 'There is no snapshot of the folder from before this prompt, so its files cannot be restored.'
    : errorText(thrown)
}

/** The changes that the rewind does not undo, one sentence each. */
export function limitsOf({ leftOut, late, commits, cut, files }: RewindPreview): string[] {
  const named = leftOut.slice(0, 3).map(({ path }) => path)
  const more = leftOut.length > named.length ? ` and ${leftOut.length - named.length} more` : ''
  return [
    leftOut.length > 0 && `No snapshot contains ${named.join(', ')}${more}, so these files are not restored.`,
    late &&
      'A command had begun before the snapshot was complete, so the snapshot may contain some of the command’s changes.',
    commits && 'Commits since the prompt stay, and the branch does not move.',
    cut && `Only ${plural(files.length, 'file')} are listed; there are more.`,
    'Ignored files, and what commands did outside the folder, stay as they are.',
  ].filter((text) => typeof text === 'string')
}

/** The effect of the rewind, for the toast. */
export function doneText(files: boolean, turns: number | undefined): string {
  const talk = turns === undefined ? undefined : `took ${plural(turns, 'turn')} back`
  const text = [files ? 'restored files' : undefined, talk].filter(Boolean).join(' and ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
