import type { FileContent } from '@parley/protocol'
import {
  ArrowLeft,
  Code,
  Ellipsis,
  Eye,
  RefreshCw,
  Search,
  SquareArrowOutUpRight,
  WrapText,
} from 'lucide-react'
import { useNow } from '../base/clock.ts'
import { editorAddress, editorName } from '../base/editor.logic.ts'
import { timeOf, visible } from '../base/format.logic.ts'
import { withKeys } from '../base/key-names.ts'
import { parentOf } from '../base/paths.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { replaceRoute } from '../base/route.ts'
import { useShortcut } from '../base/shortcuts.ts'
import { useStore } from '../base/store.ts'
import { IconButton } from '../parts/button.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import { useKnownChanges } from '../session-data/known-changes.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { openChanges } from '../session-data/shown-changes.ts'
import { showAllFiles } from '../session-data/shown-file.ts'
import { sizeText } from './bytes.logic.ts'
import { versionsOf, withVersion } from './versions.logic.ts'

const menuPart = lazyPart(() => import('./file-menu.tsx'))

type Props = {
  route: SessionRoute & { readonly file: string }
  file: FileContent | undefined
  /** Whether the file is rendered; undefined if it can only be shown as source. */
  rendered: boolean | undefined
  finding: boolean
  onRender: (rendered: boolean) => void
  onFind: (open: boolean) => void
  onRefresh: () => void
}

/** The path of the shown file, with its actions. */
export function FileHead({ route, file, rendered, finding, onRender, onFind, onRefresh }: Props) {
  const findKeys = useShortcut('find')
  const wrap = useStore(preferences, (state) => state.wrapLines)
  const isSource = file?.type === 'text' && rendered !== true
  return (
    <header className="border-b border-line">
      <div className="flex min-h-9 items-center gap-1 px-2">
        <IconButton
          label="All files"
          onClick={() => showAllFiles(route.id)}
          className="@min-[40rem]/files:hidden"
        >
          <ArrowLeft size={15} />
        </IconButton>
        <PathText path={file?.path ?? route.file} />
        <Status route={route} path={file?.path} />
      </div>
      <div className="flex min-h-8 items-center gap-0.5 pr-1 pl-3 pb-0.5 text-xs text-soft">
        <Version route={route} />
        <span className="min-w-0 flex-1 truncate px-1 text-faint">{file && sizeText(file.size)}</span>
        {rendered !== undefined && (
          <IconButton
            label={rendered ? 'Show the source' : 'Show rendered'}
            onClick={() => onRender(!rendered)}
          >
            {rendered ? <Code size={15} /> : <Eye size={15} />}
          </IconButton>
        )}
        {isSource && (
          <>
            <IconButton
              label={withKeys(`Find in the file${findKeys ? ` (${findKeys})` : ''}`)}
              aria-pressed={finding}
              onClick={() => onFind(!finding)}
            >
              <Search size={15} />
            </IconButton>
            <IconButton
              label="Wrap long lines"
              aria-pressed={wrap}
              onClick={() => setPreferences({ wrapLines: !wrap })}
              className={wrap ? 'bg-mark-wash text-mark!' : ''}
            >
              <WrapText size={15} />
            </IconButton>
          </>
        )}
        <EditorLink file={file} line={route.line} />
        <IconButton label="Reload the file" onClick={onRefresh}>
          <RefreshCw size={14} />
        </IconButton>
        <Menu
          label="File menu"
          part={menuPart}
          list={(FileMenu, menu) => <FileMenu {...menu} route={route} file={file} />}
        >
          <Ellipsis size={16} />
        </Menu>
      </div>
    </header>
  )
}

/** Shortens the folders rather than the name of the file. */
function PathText({ path }: { path: string }) {
  const folder = parentOf(path)
  const cut = folder === '' ? 0 : folder.length + 1
  return (
    <h3 className="flex min-w-0 flex-1 px-1 font-mono text-xs" title={visible(path)}>
      <span className="truncate text-faint">{visible(path.slice(0, cut))}</span>
      <span className="max-w-full shrink-0 truncate font-semibold">{visible(path.slice(cut))}</span>
    </h3>
  )
}

/** Links to the changes of the file, if the file is known to be changed. */
function Status({ route, path }: { route: SessionRoute; path: string | undefined }) {
  const status = useKnownChanges(route.id).get(path ?? '')
  if (status === undefined || path === undefined) return null
  return (
    <button
      type="button"
      title="Show the changes of this file"
      onClick={() => openChanges(route.id, { paths: [path] })}
      className="shrink-0 rounded-md px-1.5 py-0.5 text-xs font-medium text-mark hover:bg-hover pointer-coarse:min-h-11"
    >
      {status}
    </button>
  )
}

function Version({ route }: { route: Props['route'] }) {
  const snapshots = useSessionState((state) => state.snapshots)
  const hasCommit = useSessionState((state) => state.startCommit !== undefined)
  const now = useNow()
  const known = versionsOf({ snapshots, hasCommit, timeOf: (at) => timeOf(at, now) })
  const versions = withVersion(known, route.rev)
  if (versions.length === 0) return null
  return (
    <select
      aria-label="Version"
      value={route.rev ?? ''}
      onChange={({ target }) => {
        const { rev: _, ...here } = route
        replaceRoute(target.value === '' ? here : { ...here, rev: target.value })
      }}
      className="field-sizing-content h-7 min-w-0 max-w-48 shrink rounded-md bg-transparent px-1 text-xs text-ink hover:bg-hover pointer-coarse:h-11"
    >
      <option value="">As it is now</option>
      {versions.map(({ rev, label }) => (
        <option key={rev} value={rev}>
          {label}
        </option>
      ))}
    </select>
  )
}

/**
 * Opens the file in the chosen editor of this machine. Only a file that the server has read has an absolute
 * path.
 */
function EditorLink({ file, line }: { file: FileContent | undefined; line: number | undefined }) {
  const editor = useStore(preferences, (state) => state.editor)
  if (editor === undefined || file?.absolutePath === undefined) return null
  const address = editorAddress(editor, file.absolutePath, line)
  if (address === undefined) return null
  const label = `Open in ${editorName(editor)}`
  return (
    <a
      href={address}
      aria-label={label}
      title={label}
      {...(/^https?:/i.test(address) && { target: '_blank' })}
      rel="noopener noreferrer"
      className="inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink pointer-coarse:size-11"
    >
      <SquareArrowOutUpRight size={14} />
    </a>
  )
}
