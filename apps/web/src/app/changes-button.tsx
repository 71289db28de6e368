import { FileDiff } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { preferences, setPreferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { useChangesCount } from '../session-data/changes-count.ts'

// If this code cannot be loaded, the button shows no count and the panel does not open by itself.
const ChangesWatch = lazy(() => import('./changes-watch.tsx').catch(() => ({ default: () => null })))

/** Opens and closes the changes panel. Shows the number of changed files. */
export function ChangesButton() {
  const open = useStore(preferences, (state) => state.sidePanel === 'changes')
  const { count = 0, cut = false } = useChangesCount() ?? {}
  const shown = `${count}${cut ? '+' : ''}`
  const label = count > 0 ? `Changes ${shown} ${count === 1 ? 'file' : 'files'}` : 'Changes'
  return (
    <>
      <Suspense>
        <ChangesWatch />
      </Suspense>
      <button
        type="button"
        aria-label={label}
        title={label}
        aria-pressed={open}
        data-opens="changes"
        onClick={() => setPreferences({ sidePanel: open ? 'none' : 'changes' })}
        className={`inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md px-1.5 text-sm pointer-coarse:h-11 pointer-coarse:min-w-11 pointer-coarse:justify-center ${open ? 'bg-mark-wash text-mark' : 'text-soft hover:bg-hover hover:text-ink'}`}
      >
        <FileDiff size={16} aria-hidden />
        <span className="max-md:hidden">Changes</span>
        {count > 0 && (
          <>
            {' '}
            <span className="text-xs tabular-nums">{shown}</span>
          </>
        )}
      </button>
    </>
  )
}
