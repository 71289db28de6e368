import { projectName, projectOf, runningInBackground } from '@parley/protocol'
import { Ellipsis, FolderOpen, ListChecks, Search, SquareTerminal } from 'lucide-react'
import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useRef, useState } from 'react'
import { useAgentName } from '../base/agents.ts'
import { lacksFocus, useFocusBack } from '../base/focus.ts'
import { folderName, plural, visible } from '../base/format.logic.ts'
import { withKeys } from '../base/key-names.ts'
import { type Preferences, preferences, setPreferences } from '../base/preferences.ts'
import { useHas, useMay } from '../base/self.ts'
import { useShortcut } from '../base/shortcuts.ts'
import { useStore } from '../base/store.ts'
import { IconButton } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { BackToSessions } from '../parts/link.tsx'
import { Menu } from '../parts/menu.tsx'
import { projectIdFor, useProjects } from '../session-data/projects.ts'
import { type HandOffPoint, registerSessionActions } from '../session-data/session-actions.ts'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { useAllSessions, useCachedSessions } from '../session-data/session-list.ts'
import { RenameField } from '../sessions/session-row.tsx'
import { ChangesButton } from './changes-button.tsx'

const SessionNodeFact = lazy(() => import('./session-node.tsx'))
const handOffPart = lazyPart(() => import('../hand-off/hand-off-dialog.tsx'))
const sessionMenu = lazyPart(() => import('./session-menu.tsx'))

export function SessionHeader({ onFind }: { onFind: () => void }) {
  const [renaming, setRenaming] = useState(false)
  const id = useSessionState((state) => state.id)
  const title = useSessionState((state) => state.title)
  const known = useKnownSession()
  const planned = useSessionState((state) => state.plan.length + state.tasks.length > 0)
  const prompts = useMay('prompt')
  const findKeys = useShortcut('find')
  const hasTerminals = useHas('terminals')
  const terminal = useMay('terminal') && hasTerminals
  const head = useRef<HTMLElement>(null)
  useFocusBack(renaming, () => head.current?.querySelector<HTMLElement>('[aria-haspopup=menu]'))
  useFocusFromPanel(head)
  const [handOff, setHandOff] = useState<HandOffPoint>()
  useEffect(() =>
    registerSessionActions({ find: onFind, rename: () => setRenaming(true), handOff: setHandOff }),
  )
  return (
    <header ref={head} className="flex min-h-12 items-center gap-1 border-b border-line px-3 max-md:px-1">
      <BackToSessions className="size-9 pointer-coarse:size-11" />
      {renaming ? (
        <RenameField session={{ id, title }} onDone={() => setRenaming(false)} />
      ) : (
        <div className="min-w-0 flex-1 py-1.5 leading-tight">
          <h1 className="truncate text-sm font-semibold" onDoubleClick={() => setRenaming(prompts)}>
            {visible(known.title)}
          </h1>
          <SessionFacts agent={known.agent} folder={known.cwd} />
        </div>
      )}
      <IconButton
        label={withKeys(`Find in this session${findKeys ? ` (${findKeys})` : ''}`)}
        onClick={onFind}
        className="max-md:hidden"
      >
        <Search size={16} />
      </IconButton>
      <PanelButton panel="plan" label="Plan" shown={planned} icon={<ListChecks size={16} />} />
      <ChangesButton />
      <PanelButton
        panel="files"
        label="Files"
        shown
        icon={<FolderOpen size={16} />}
        className="max-md:hidden"
      />
      <PanelButton panel="terminal" label="Terminals" shown={terminal} icon={<SquareTerminal size={16} />} />
      <Menu
        label="Session menu"
        part={sessionMenu}
        list={(SessionMenu, menu) => (
          <SessionMenu
            {...menu}
            onRename={() => setRenaming(true)}
            onFind={onFind}
            onHandOff={() => setHandOff({})}
          />
        )}
      >
        <Ellipsis size={17} />
      </Menu>
      {handOff && (
        <Lazy part={handOffPart}>
          {(HandOffDialog) => <HandOffDialog point={handOff} onClose={() => setHandOff(undefined)} />}
        </Lazy>
      )}
    </header>
  )
}

/** The title, agent and folder of the open session, taken from the session list until the session is loaded. */
function useKnownSession(): { readonly title: string; readonly agent: string; readonly cwd: string } {
  const id = useSessionId()
  const loaded = useSessionState((state) => state.seq > 0)
  const title = useSessionState((state) => state.title)
  const agent = useSessionState((state) => state.agent)
  const cwd = useSessionState((state) => state.cwd)
  const listed = [...useAllSessions().sessions, ...useCachedSessions()].find((session) => session.id === id)
  if (loaded) return { title: title || 'Untitled', agent, cwd }
  return { title: listed?.title || 'Session', agent: listed?.agent ?? '', cwd: listed?.cwd ?? '' }
}

function SessionFacts({ agent, folder }: { agent: string; folder: string }) {
  const agentName = useAgentName(agent)
  // Sessions have a place only if the server is a node.
  const mayRunElsewhere = useAllSessions().sessions.some(({ place }) => place !== undefined)
  const archived = useSessionState((state) => state.archived)
  const version = useSessionState((state) => state.connection?.agentVersion)
  const credential = useSessionState((state) => state.connection?.credential)
  const background = useSessionState((state) => runningInBackground(state).length)
  const status = useSnapshot((snapshot) => snapshot.status)
  return (
    <p className="flex items-center gap-x-1.5 truncate text-xs text-faint max-md:flex-wrap">
      <span
        title={[version && `version ${version}`, credential && `paid by ${credential}`]
          .filter(Boolean)
          .join(', ')}
      >
        {agentName}
      </span>
      {folder && (
        <span aria-hidden className="max-md:hidden">
          ·
        </span>
      )}
      <Place folder={folder} />
      {mayRunElsewhere && (
        <Suspense>
          <SessionNodeFact />
        </Suspense>
      )}
      {credential && <Fact className="shrink-0 max-md:max-w-full max-md:truncate">paid by {credential}</Fact>}
      {background > 0 && <Fact className="shrink-0 text-mark">{plural(background, 'background task')}</Fact>}
      {archived && <Fact>archived</Fact>}
      {status === 'reconnecting' && <Fact className="text-wait">reconnecting</Fact>}
    </p>
  )
}

function Fact({ className, children }: { className?: string; children: ReactNode }) {
  return (
    <span className={className}>
      <span className="max-md:hidden">· </span>
      {children}
    </span>
  )
}

/** Shows the folder of the session. For a worktree, whose folder has a generated name, shows the project and the branch. */
function Place({ folder }: { folder: string }) {
  const id = useSessionId()
  const made = useSessionState((state) => state.worktree?.branch)
  const project = useSessionState((state) => state.project)
  const projects = useProjects()
  const listed = [...useAllSessions().sessions, ...useCachedSessions()].find((session) => session.id === id)
  const planned = made ?? listed?.worktree?.branch
  if (planned === undefined) return <Folder path={folder} />
  const own = listed ?? { cwd: folder, ...(project !== undefined && { project }) }
  const known = projects.get(projectIdFor(own))
  const branch = known?.folders.find((one) => one.folder === folder)?.branch ?? planned
  return (
    <span className="min-w-0 truncate" title={`${visible(branch)}\n${visible(folder)}`}>
      {visible(known?.name ?? projectName(projectOf(own)))} · {visible(branch)}
    </span>
  )
}

/** Shows a path. If the path does not fit, its last segment remains readable. */
function Folder({ path }: { path: string }) {
  const name = folderName(path)
  const before = path.endsWith(name) ? path.slice(0, -name.length) : ''
  return (
    <span className="flex min-w-0" title={path}>
      <span className="truncate max-md:hidden">{visible(before)}</span>
      <span className="max-w-full shrink-0 truncate">{visible(name)}</span>
    </span>
  )
}

/** When a panel closes, moves the focus to the button that opens that panel. */
function useFocusFromPanel(head: RefObject<HTMLElement | null>): void {
  const panel = useStore(preferences, (state) => state.sidePanel)
  const last = useRef(panel)
  useEffect(() => {
    const before = last.current
    last.current = panel
    if (panel !== 'none' || before === 'none' || !lacksFocus()) return
    const button = head.current?.querySelector<HTMLElement>(`[data-opens=${before}]`)
    const shown = button?.checkVisibility()
      ? button
      : head.current?.querySelector<HTMLElement>('[aria-haspopup=menu]')
    shown?.focus()
  }, [panel, head])
}

type PanelButtonProps = {
  panel: Preferences['sidePanel']
  label: string
  shown: boolean
  icon: ReactNode
  className?: string
}

function PanelButton({ panel, label, shown, icon, className = '' }: PanelButtonProps) {
  const open = useStore(preferences, (state) => state.sidePanel === panel)
  if (!shown && !open) return null
  return (
    <IconButton
      label={label}
      aria-pressed={open}
      data-opens={panel}
      onClick={() => setPreferences({ sidePanel: open ? 'none' : panel })}
      className={`${className} ${open ? 'bg-mark-wash text-mark!' : ''}`}
    >
      {icon}
    </IconButton>
  )
}
