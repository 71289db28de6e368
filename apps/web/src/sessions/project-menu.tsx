import type { Project } from '@parley/protocol'
import { ClipboardCopy, Plus, Settings2 } from 'lucide-react'
import { isOwnPlace } from '../base/nodes.logic.ts'
import { useNodes } from '../base/nodes.ts'
import { useMay } from '../base/self.ts'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList, { type MenuEntry } from '../parts/menu-list.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { startIn } from '../session-data/new-session.ts'
import { folderOfProject } from '../session-data/projects.ts'

type Props = OpenMenu & { root: string; project: Project | undefined; onSettings: () => void }

/** The actions of a project. `project` is missing until the list of projects is loaded. */
export default function ProjectMenu({ root, project, onSettings, ...menu }: Props) {
  const starts = useMay('prompt')
  const place = project?.place
  // Only a server on the machine that has the folder can start a session there.
  const isHere = useNodes(({ nodes }) => isOwnPlace(nodes, place))
  const folder = project ? folderOfProject(project) : root
  const copy = () =>
    navigator.clipboard.writeText(folder).then(() => toast('Copied the folder path.'), toastError)
  const entries: (MenuEntry | false)[] = [
    starts && isHere && { label: 'New session here', icon: Plus, onSelect: () => startIn(folder) },
    // The settings are absent for a person with limits.
    project?.settings !== undefined && { label: 'Project settings', icon: Settings2, onSelect: onSettings },
    { label: 'Copy folder path', icon: ClipboardCopy, onSelect: () => void copy() },
  ]
  return <MenuList {...menu} entries={entries.filter((entry) => entry !== false)} />
}
