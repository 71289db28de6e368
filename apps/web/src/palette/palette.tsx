import { type Scope, type SessionSummary, summarise } from '@parley/protocol'
import { Command } from 'cmdk'
import {
  Archive,
  ChevronLeft,
  ChevronRight,
  Columns3,
  History,
  Inbox,
  Keyboard,
  ListChevronsDownUp,
  Moon,
  Plus,
  Settings,
  Sun,
  UnfoldVertical,
} from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { useAgentName } from '../base/agents.ts'
import { folderName, visible } from '../base/format.logic.ts'
import { matchOf } from '../base/match.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { sectionNames, settingsSections } from '../base/route.logic.ts'
import { navigate, useRoute } from '../base/route.ts'
import { may } from '../base/self.ts'
import { IconButton } from '../parts/button.tsx'
import { Dialog, pageDialog } from '../parts/dialog.tsx'
import { Shortcut } from '../parts/shortcut.tsx'
import { trySeveral } from '../session-data/attempt-choices.ts'
import { collapseOldTurns } from '../session-data/collapsed-turns.ts'
import { useAllSessions } from '../session-data/session-list.ts'
import { sessionSource } from '../session-data/session-source.ts'
import { type TextFilter, type TextSearch, useTextSearch } from '../session-data/text-search.ts'
import { searchNote } from '../sessions/search-note.logic.ts'
import { StatusMark } from '../sessions/status-mark.tsx'
import { Entry, groupLook } from './entry.tsx'
import { FoundHits, isHit } from './found-hits.tsx'
import { roundCommands } from './round-commands.tsx'
import { isWithin, SearchFilters } from './search-filters.tsx'
import { type PaletteCommand, sessionCommands } from './session-commands.tsx'
import { type SessionSearch, useSessionSearch } from './session-search.ts'

/** The number of sessions shown before anything is typed. */
const maxInitial = 5
const leastMatch = 0.001

/** The command palette: sessions and actions, including those of the open session. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [inside, setInside] = useState<PaletteCommand>()
  const [filter, setFilter] = useState<TextFilter>({})
  const search = useSessionSearch(inside ? '' : query.trim(), filter)
  const text = useTextSearch(inside ? '' : query, filter)
  const enter = (command: PaletteCommand | undefined) => {
    setInside(command)
    setQuery('')
  }
  const choose = (command: PaletteCommand) => {
    if (command.entries) return enter(command)
    onClose()
    command.onSelect?.()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!inside || (event.key !== 'Escape' && !(event.key === 'Backspace' && query === ''))) return
    // Keeps the dialog open.
    event.preventDefault()
    enter(undefined)
  }
  return (
    <Dialog label="Command palette" onClose={onClose} className="mt-[12dvh]">
      <Command
        // Each level has its own input, which takes the focus.
        key={inside?.label}
        label="Command palette"
        loop
        onKeyDown={onKeyDown}
        // The server has matched the messages. They come after the entries that match by name.
        filter={(value, typed, keywords = []) =>
          isHit(value) ? leastMatch : matchOf(keywords.join(' ') || value, typed)
        }
      >
        <div className="flex items-center border-b border-line">
          {inside && (
            <IconButton
              label="Back"
              className="ml-2"
              // Stops the propagation of Enter: otherwise the palette would treat the key as a choice.
              onKeyDown={(event) => event.key === 'Enter' && event.stopPropagation()}
              onClick={() => enter(undefined)}
            >
              <ChevronLeft size={16} />
            </IconButton>
          )}
          <Command.Input
            autoFocus
            value={query}
            onValueChange={setQuery}
            placeholder={inside ? 'Choose one of these' : 'Search sessions, messages and commands'}
            className={`min-w-0 flex-1 bg-transparent py-3 pr-4 text-base outline-none ${inside ? 'pl-1' : 'pl-4'}`}
          />
        </div>
        {!inside && query.trim() !== '' && <SearchFilters filter={filter} onChange={setFilter} />}
        <Command.List className="max-h-[60dvh] overflow-y-auto p-1.5">
          <Command.Empty className="px-3 py-6 text-center text-sm text-soft">
            {search.searching || text.searching ? 'Searching…' : 'No results'}
          </Command.Empty>
          {inside?.entries ? (
            <CommandGroup heading={inside.label} commands={inside.entries} onChoose={choose} />
          ) : (
            <>
              <Results typed={query.trim() !== ''} search={search} filter={filter} onChoose={choose} />
              <FoundHits hits={text.hits} onChoose={choose} />
            </>
          )}
        </Command.List>
        <SearchNote search={search} text={text} />
      </Command>
    </Dialog>
  )
}

/** A note below the results, if more sessions match or the search failed. */
function SearchNote({ search, text }: { search: SessionSearch; text: TextSearch }) {
  const problem = search.problem ?? text.problem
  const more = search.hasMore ? 'More sessions match. Type more to narrow the search.' : undefined
  const note = problem ?? more ?? searchNote(text)
  if (note === undefined) return null
  return (
    <p
      role="status"
      className={`border-t border-line px-4 py-2 text-xs ${problem === undefined ? 'text-soft' : 'text-bad'}`}
    >
      {note}
    </p>
  )
}

type ResultsProps = {
  typed: boolean
  search: SessionSearch
  filter: TextFilter
  onChoose: (command: PaletteCommand) => void
}

function Results({ typed, search, filter, onChoose }: ResultsProps) {
  // Loaded sessions match at once; the server adds all others.
  const known = useAllSessions().sessions
  const here = useCurrentSession(known)
  const byId = new Map([...known, ...search.sessions].map((session) => [session.id, session]))
  const all = typed ? [...byId.values()].filter((session) => isWithin(session, filter)) : known
  const others = all.filter(({ id }) => id !== here?.id)
  const listed = typed ? others : others.slice(0, maxInitial)
  return (
    <>
      {listed.length > 0 && (
        <Command.Group heading="Sessions" className={groupLook}>
          {listed.map((session) => (
            <SessionEntry key={session.id} session={session} onChoose={onChoose} />
          ))}
        </Command.Group>
      )}
      {here && (
        <CommandGroup
          heading="This session"
          note=" (this session)"
          commands={sessionCommands(here)}
          onChoose={onChoose}
        />
      )}
      {here === undefined && (
        <CommandGroup heading="This round" commands={roundCommands()} onChoose={onChoose} />
      )}
      <CommandGroup
        heading="Commands"
        commands={pageCommands.filter(({ scope }) => scope === undefined || may(scope))}
        onChoose={onChoose}
      />
    </>
  )
}

/** The open session: from a list that has loaded it, otherwise from the data of the session page. */
function useCurrentSession(known: readonly SessionSummary[]): SessionSummary | undefined {
  const route = useRoute()
  if (route.name !== 'session') return undefined
  const listed = known.find(({ id }) => id === route.id)
  if (listed) return listed
  const { state } = sessionSource(route.id).getSnapshot().view
  return state.seq > 0 ? summarise(state) : undefined
}

type CommandGroupProps = {
  heading: string
  /** Distinguishes these actions from others with the same label. */
  note?: string
  commands: readonly PaletteCommand[]
  onChoose: (command: PaletteCommand) => void
}

function CommandGroup({ heading, note = '', commands, onChoose }: CommandGroupProps) {
  if (commands.length === 0) return null
  return (
    <Command.Group heading={heading} className={groupLook}>
      {commands.map((command) => (
        <Entry
          key={command.label}
          icon={command.icon && <command.icon size={15} />}
          value={command.label + note}
          {...(command.entries && {
            keywords: [command.label, ...command.entries.map(({ label }) => label)],
          })}
          onSelect={() => onChoose(command)}
        >
          <span className="min-w-0 flex-1 truncate">{command.label}</span>
          {command.shortcut && <Shortcut action={command.shortcut} className="text-ink" />}
          {command.entries && <ChevronRight size={14} aria-hidden className="shrink-0 text-faint" />}
        </Entry>
      ))}
    </Command.Group>
  )
}

/** `scope`: the scope that a person needs to use the command. */
const pageCommands: readonly (PaletteCommand & { readonly scope?: Scope })[] = [
  {
    label: 'New session',
    scope: 'prompt',
    icon: Plus,
    shortcut: 'new',
    onSelect: () => navigate({ name: 'new' }),
  },
  { label: 'Try several agents', scope: 'prompt', icon: Columns3, onSelect: trySeveral },
  {
    label: 'Inbox: approvals and questions',
    icon: Inbox,
    shortcut: 'inbox',
    onSelect: () => navigate({ name: 'inbox' }),
  },
  {
    label: 'Continue a Claude or Codex session (import)',
    scope: 'prompt',
    icon: History,
    onSelect: () => navigate({ name: 'import' }),
  },
  ...settingsSections.map((section) => ({
    label: `Settings: ${sectionNames[section].toLowerCase()}`,
    ...(section === 'people' && { scope: 'admin' as const }),
    icon: Settings,
    onSelect: () => navigate({ name: 'settings', section }),
  })),
  { label: 'Keyboard shortcuts', icon: Keyboard, shortcut: 'keys', onSelect: () => pageDialog.set('keys') },
  { label: 'Theme: light', icon: Sun, onSelect: () => setPreferences({ theme: 'light' }) },
  { label: 'Theme: dark', icon: Moon, onSelect: () => setPreferences({ theme: 'dark' }) },
  { label: 'Theme: system', icon: Sun, onSelect: () => setPreferences({ theme: 'system' }) },
  {
    label: 'Expand all steps, or collapse all steps',
    icon: UnfoldVertical,
    onSelect: () => setPreferences({ expandAll: !preferences.get().expandAll }),
  },
  {
    label: 'Collapse old turns, or expand all turns',
    icon: ListChevronsDownUp,
    onSelect: () => collapseOldTurns(!preferences.get().collapseTurns),
  },
]

type SessionEntryProps = { session: SessionSummary; onChoose: (command: PaletteCommand) => void }

function SessionEntry({ session, onChoose }: SessionEntryProps) {
  const { id, title, cwd, archived } = session
  const icon = archived ? <Archive size={15} /> : <StatusMark session={session} unread={false} />
  const label = visible(title) || 'Untitled'
  const agentName = useAgentName(session.agent)
  const open = () => onChoose({ label, onSelect: () => navigate({ name: 'session', id }) })
  return (
    <Entry value={id} keywords={[title, cwd, session.agent, agentName]} icon={icon} onSelect={open}>
      <span className="min-w-0 flex-1 truncate">{label}</span>
      <span className="shrink-0 text-xs text-faint">
        {agentName} · {folderName(cwd)}
      </span>
    </Entry>
  )
}
