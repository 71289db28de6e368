import type { SessionSummary } from '@parley/protocol'
import { ChevronDown } from 'lucide-react'
import { useAgentNames } from '../base/agents.ts'
import { folderName } from '../base/format.logic.ts'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import type { MenuEntry } from '../parts/menu-list.tsx'
import { useAllSessions } from '../session-data/session-list.ts'
import type { TextFilter } from '../session-data/text-search.ts'

const menuList = lazyPart(() => import('../parts/menu-list.tsx'))
const mostFolders = 20

/** Whether a session matches the filters of the palette. */
export function isWithin({ agent, cwd }: SessionSummary, filter: TextFilter): boolean {
  if (filter.agent !== undefined && agent !== filter.agent) return false
  return filter.folder === undefined || cwd === filter.folder || cwd.startsWith(`${filter.folder}/`)
}

type Props = { filter: TextFilter; onChange: (filter: TextFilter) => void }

/** Restricts a search to the sessions of an agent or a folder. */
export function SearchFilters({ filter, onChange }: Props) {
  const { sessions } = useAllSessions()
  const agentName = useAgentNames()
  const { agent, folder } = filter
  const agents = [...new Set(sessions.map((session) => session.agent))]
  const folders = [...new Set(sessions.map(({ cwd }) => cwd))].slice(0, mostFolders)
  const without = (name: keyof TextFilter) => {
    const { [name]: _, ...rest } = filter
    return rest
  }
  return (
    <div className="flex flex-wrap gap-1 border-b border-line px-2.5 py-1 text-xs">
      <Filter
        label="Agent"
        value={agent === undefined ? 'All agents' : agentName(agent)}
        entries={[
          { label: 'All agents', onSelect: () => onChange(without('agent')) },
          ...agents.map((id) => ({
            label: agentName(id),
            onSelect: () => onChange({ ...filter, agent: id }),
          })),
        ]}
      />
      <Filter
        label="Folder"
        value={folder === undefined ? 'All folders' : folderName(folder)}
        entries={[
          { label: 'All folders', onSelect: () => onChange(without('folder')) },
          ...folders.map((path) => ({ label: path, onSelect: () => onChange({ ...filter, folder: path }) })),
        ]}
      />
    </div>
  )
}

type FilterProps = { label: string; value: string; entries: readonly MenuEntry[] }

function Filter({ label, value, entries }: FilterProps) {
  return (
    // Keys that are pressed in the button and its menu do not reach the palette.
    // biome-ignore lint/a11y/noStaticElementInteractions: it only stops the propagation of keys
    <span onKeyDown={(event) => event.key !== 'Escape' && event.stopPropagation()}>
      <Menu
        label={`${label}: ${value}`}
        className="w-auto! gap-1 px-1.5"
        part={menuList}
        list={(MenuList, menu) => <MenuList {...menu} entries={entries} />}
      >
        {value}
        <ChevronDown size={12} aria-hidden />
      </Menu>
    </span>
  )
}
