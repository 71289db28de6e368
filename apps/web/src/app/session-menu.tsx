import {
  ArrowRightLeft,
  ClipboardCopy,
  FolderOpen,
  FoldVertical,
  GitFork,
  ListChevronsDownUp,
  ListChevronsUpDown,
  Minimize2,
  Pencil,
  Power,
  ScanText,
  Search,
  UnfoldVertical,
} from 'lucide-react'
import { useAgent } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useIsNarrow } from '../base/effects.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { navigate } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList, { type MenuEntry } from '../parts/menu-list.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { collapseOldTurns } from '../session-data/collapsed-turns.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { exportEntry, lifecycleEntries } from '../sessions/session-entries.tsx'

type Props = OpenMenu & { onRename: () => void; onFind: () => void; onHandOff: () => void }

export default function SessionMenu({ onRename, onFind, onHandOff, ...menu }: Props) {
  const id = useSessionState((state) => state.id)
  const title = useSessionState((state) => state.title)
  const pinned = useSessionState((state) => state.pinned)
  const archived = useSessionState((state) => state.archived)
  const connected = useSessionState((state) => state.connected)
  const cwd = useSessionState((state) => state.cwd)
  const agent = useAgent(useSessionState((state) => state.agent))
  const all = useStore(preferences, (state) => state.expandAll)
  const collapsed = useStore(preferences, (state) => state.collapseTurns)
  const isNarrow = useIsNarrow()
  const run = (work: Promise<unknown>) => void work.catch(toastError)
  const fork = async () => navigate({ name: 'session', id: (await client.fork(id)).sessionId })
  const worktree = useSessionState((state) => state.worktree)
  const round = useSessionState((state) => state.round)
  const { change, remove } = lifecycleEntries({ id, title, pinned, archived, worktree, round })
  const prompts = useMay('prompt')
  const entries: (MenuEntry | false | undefined)[] = [
    prompts && { label: 'Rename', icon: Pencil, onSelect: onRename },
    { label: 'Find', icon: Search, onSelect: onFind },
    {
      label: all ? 'Collapse all steps' : 'Expand all steps',
      icon: all ? FoldVertical : UnfoldVertical,
      onSelect: () => setPreferences({ expandAll: !all }),
    },
    {
      label: collapsed ? 'Expand all turns' : 'Collapse old turns',
      icon: collapsed ? ListChevronsUpDown : ListChevronsDownUp,
      onSelect: () => collapseOldTurns(!collapsed),
    },
    {
      label: 'Copy folder path',
      icon: ClipboardCopy,
      onSelect: () => run(navigator.clipboard.writeText(cwd).then(() => toast('Copied the folder path.'))),
    },
    prompts && agent?.capabilities.fork && { label: 'Fork', icon: GitFork, onSelect: () => run(fork()) },
    prompts && { label: 'Hand over to another agent…', icon: ArrowRightLeft, onSelect: onHandOff },
    prompts &&
      agent?.capabilities.compaction && {
        label: 'Compact context',
        icon: Minimize2,
        onSelect: () => run(client.compact(id)),
      },
    prompts &&
      connected && { label: 'Shut down agent', icon: Power, onSelect: () => run(client.closeSession(id)) },
    // On a phone, the header has no room for the button of the file panel.
    isNarrow && {
      label: 'Files',
      icon: FolderOpen,
      onSelect: () => setPreferences({ sidePanel: 'files' }),
    },
    { label: 'Event log', icon: ScanText, onSelect: () => setPreferences({ sidePanel: 'events' }) },
    exportEntry(id),
    ...change,
    ...remove,
  ]
  return <MenuList {...menu} entries={entries.filter((entry) => entry !== false && entry !== undefined)} />
}
