import type { FileChange } from '@parley/protocol'
import { hunkRange } from '@parley/protocol/diff'
import type { Hunk } from '../parts/diff/lines.logic.ts'
import type { ShownPart } from './part-choice.tsx'
import { useWriting } from './writing.tsx'

type Props = { file: FileChange; part: ShownPart; hunk: Hunk; at: number }

/** The row above a hunk, with the actions for this hunk. */
export function HunkBar({ file, part, hunk, at }: Props) {
  const writing = useWriting()
  const stages = part === 'unstaged' || (part === undefined && file.staged === undefined)
  const unstages = part === 'staged' || (part === undefined && file.staged === 'all')
  const action = stages ? 'Stage' : 'Unstage'
  return (
    <tr className="gap" data-bar={at}>
      <td colSpan={6}>
        <div className="sticky left-3 flex w-[calc(100cqw-1.5rem)] items-center gap-1">
          <span className="flex-1">⋯</span>
          {writing?.stage && (stages || unstages) && (
            <HunkButton
              action="stage"
              label={`${action} change ${at + 1} of ${file.path}`}
              onClick={() => writing.stage?.(file, { hunks: [hunkRange(hunk)], unstage: unstages })}
            >
              {action}
            </HunkButton>
          )}
          {writing && part === undefined && (
            <HunkButton
              action="discard"
              label={`Discard change ${at + 1} of ${file.path}`}
              onClick={() => writing.discard(file, [hunkRange(hunk)])}
            >
              Discard
            </HunkButton>
          )}
        </div>
      </td>
    </tr>
  )
}

type ButtonProps = { action: string; label: string; onClick: () => void; children: string }

function HunkButton({ action, label, onClick, children }: ButtonProps) {
  return (
    <button
      type="button"
      data-action={action}
      aria-label={label}
      onClick={onClick}
      className="rounded px-1.5 font-sans text-xs text-soft opacity-0 group-focus-within/file:opacity-100 group-hover/file:opacity-100 hover:bg-hover hover:text-ink focus-visible:opacity-100 pointer-coarse:min-h-11 pointer-coarse:opacity-100"
    >
      {children}
    </button>
  )
}
