import type { FileChange } from '@parley/protocol'
import { Check } from 'lucide-react'
import { memo } from 'react'
import { visible } from '../base/format.logic.ts'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { jumpTo } from '../session-data/shown-changes.ts'
import { isViewed, type ViewedMarks } from './viewed.logic.ts'

export const statusLetters = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  renamed: 'R',
  untracked: 'A',
  conflicted: '!',
}

type Props = { files: readonly FileChange[]; marks: ViewedMarks }

/** The changed files. A click jumps to the file; a long list has its own scroll area. */
export const FileList = memo(function FileList({ files, marks }: Props) {
  return (
    <nav aria-label="Files" className="max-h-[min(13.2rem,35vh)] overflow-y-auto border-b border-line py-1">
      <ul>
        {files.map((file) => (
          <li
            key={file.path}
            className="[contain-intrinsic-block-size:auto_1.5rem] [content-visibility:auto]"
          >
            <button
              type="button"
              title={file.path}
              onClick={() => jumpTo(file.path)}
              className="flex min-h-6 w-full items-center gap-2 px-4 text-left text-xs hover:bg-hover pointer-coarse:min-h-11"
            >
              <span className="w-3 shrink-0 text-center text-faint" title={file.status}>
                {statusLetters[file.status]}
              </span>
              <Path path={file.path} />
              {file.generated && <span className="shrink-0 text-faint">generated</span>}
              {isViewed(marks, file) && (
                <Check size={13} role="img" aria-label="viewed" className="shrink-0 text-good" />
              )}
              <DiffCount added={file.added ?? 0} removed={file.removed ?? 0} />
            </button>
          </li>
        ))}
      </ul>
    </nav>
  )
})

/** Shortens the folders rather than the file name if the path does not fit. */
function Path({ path }: { path: string }) {
  const cut = path.lastIndexOf('/') + 1
  return (
    <span className="flex min-w-0 flex-1">
      <span className="truncate text-faint">{visible(path.slice(0, cut))}</span>
      <span className="max-w-full shrink-0 truncate">{visible(path.slice(cut))}</span>
    </span>
  )
}
