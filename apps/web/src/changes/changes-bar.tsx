import type { Changes } from '@parley/protocol'
import { Columns2, FolderTree, RefreshCw, Rows2 } from 'lucide-react'
import { plural, visible } from '../base/format.logic.ts'
import { setPreferences } from '../base/preferences.ts'
import { IconButton } from '../parts/button.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'

type BarProps = {
  changes: Changes
  viewed: number
  split: boolean
  listed: boolean
  onRefresh: () => void
}

/** The bar sticks to the top of the panel, so that the file list is one click away at any scroll position. */
export function ChangesBar({ changes, viewed, split, listed, onRefresh }: BarProps) {
  const { files, branch } = changes
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0)
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0)
  return (
    <div className="sticky top-0 z-20 flex h-9 items-center gap-1 border-b border-line bg-side pr-2 pl-4 text-xs text-soft pointer-coarse:h-12">
      <span className="min-w-0 flex-1 truncate">
        {plural(files.length, 'file')}
        {branch !== undefined && ` on ${visible(branch)}`}
      </span>
      {viewed > 0 && (
        <span className="shrink-0 tabular-nums">
          {viewed} of {files.length} viewed
        </span>
      )}
      <span className="px-1">
        <DiffCount added={added} removed={removed} />
      </span>
      {files.length > 1 && (
        <IconButton
          label="File list"
          aria-pressed={listed}
          onClick={({ currentTarget }) => {
            const panel = currentTarget.closest('aside')?.querySelector('.overflow-y-auto')
            // If the panel is scrolled down, the open list is out of sight: scroll to it instead of closing it.
            if (listed && panel && panel.scrollTop > 0) panel.scrollTo({ top: 0 })
            else setPreferences({ listFiles: !listed })
          }}
        >
          <FolderTree size={15} />
        </IconButton>
      )}
      <IconButton
        label={split ? 'One column' : 'Two columns'}
        onClick={() => setPreferences({ splitChanges: !split })}
        className="max-md:hidden"
      >
        {split ? <Rows2 size={15} /> : <Columns2 size={15} />}
      </IconButton>
      <IconButton label="Refresh" onClick={onRefresh}>
        <RefreshCw size={14} />
      </IconButton>
    </div>
  )
}
