import { useSessions } from '@parley/client/react'
import type { SessionSummary } from '@parley/protocol'
import { Command } from 'cmdk'
import {
  Archive,
  ChevronLeft,
  ChevronRight,
  History,
  Inbox,
  Moon,
  Plus,
  Settings,
  Sun,
  UnfoldVertical,
} from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { useAgents } from '../page/agents.ts'
import { prefer, preferences } from '../page/preferences.ts'
import { settingsSections } from '../page/route.logic.ts'
import { go, useRoute } from '../page/route.ts'
import { useAllSessions } from '../page/sessions.ts'
import { folderName, visible } from '../page/words.logic.ts'
import { IconButton, Key } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { StatusMark } from '../sessions/status-mark.tsx'
import { sectionNames } from '../settings/section-names.ts'
import { matchOf } from './match.logic.ts'
import { type Doing, doingsOf } from './session-doings.tsx'

/** As many sessions are shown before anything is typed. */
const mostAtFirst = 5

/** Everything by its name: sessions and what can be done, with the one that is open and without. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState('')
  const [inside, setInside] = useState<Doing>()
  const enter = (doing: Doing | undefined) => {
    setInside(doing)
    setWords('')
  }
  const choose = (doing: Doing) => {
    if (doing.entries) return enter(doing)
    onClose()
    doing.onSelect?.()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!inside || (event.key !== 'Escape' && !(event.key === 'Backspace' && words === ''))) return
    // The dialog would close.
    event.preventDefault()
    enter(undefined)
  }
  return (
    <Dialog label="Command palette" onClose={onClose} className="mt-[12dvh]">
      <Command
        // A level begins anew, with the focus where one types.
        key={inside?.label}
        label="Command palette"
        loop
        onKeyDown={onKeyDown}
        filter={(value, typed, keywords = []) => matchOf([...keywords, value].join(' '), typed)}
      >
        <div className="flex items-center border-b border-line">
          {inside && (
            <IconButton
              label="Back"
              className="ml-2"
              // Enter would be taken for a choice.
              onKeyDown={(event) => event.key === 'Enter' && event.stopPropagation()}
              onClick={() => enter(undefined)}
            >
              <ChevronLeft size={16} />
            </IconButton>
          )}
          <Command.Input
            autoFocus
            value={words}
            onValueChange={setWords}
            placeholder={inside ? 'Choose one of these' : 'Go to a session, or do something'}
            className={`min-w-0 flex-1 bg-transparent py-3 pr-4 text-base outline-none ${inside ? 'pl-1' : 'pl-4'}`}
          />
        </div>
        <Command.List className="max-h-[60dvh] overflow-y-auto p-1.5">
          <Command.Empty className="px-3 py-6 text-center text-sm text-soft">
            Nothing has that name.
          </Command.Empty>
          {inside?.entries ? (
            <Doings heading={inside.label} doings={inside.entries} onChoose={choose} />
          ) : (
            <Everything typed={words.trim() !== ''} onChoose={choose} />
          )}
        </Command.List>
      </Command>
    </Dialog>
  )
}

function Everything({ typed, onChoose }: { typed: boolean; onChoose: (doing: Doing) => void }) {
  const all = useSessions({ archived: 'all' })
  // Known already, so that the first of them is chosen from the start.
  const known = useAllSessions().sessions
  const sessions = all.status === 'loading' ? known : all.sessions
  const route = useRoute()
  const here = route.name === 'session' ? sessions.find(({ id }) => id === route.id) : undefined
  const others = sessions.filter((session) => session !== here)
  const listed = typed ? others : others.filter(({ archived }) => !archived).slice(0, mostAtFirst)
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
        <Doings heading="This session" note=" (this session)" doings={doingsOf(here)} onChoose={onChoose} />
      )}
      <Doings heading="Do" doings={doings} onChoose={onChoose} />
    </>
  )
}

function Doings({
  heading,
  note = '',
  doings,
  onChoose,
}: {
  heading: string
  /** Tells them from others of the same name. */
  note?: string
  doings: readonly Doing[]
  onChoose: (doing: Doing) => void
}) {
  return (
    <Command.Group heading={heading} className={groupLook}>
      {doings.map((doing) => (
        <Entry
          key={doing.label}
          icon={doing.icon}
          value={doing.label + note}
          {...(doing.entries && { keywords: doing.entries.map(({ label }) => label) })}
          onSelect={() => onChoose(doing)}
        >
          <span className="min-w-0 flex-1 truncate">{doing.label}</span>
          {doing.keys && (
            <span className="flex shrink-0 gap-1 text-ink">
              {doing.keys.map((key) => (
                <Key key={key}>{key}</Key>
              ))}
            </span>
          )}
          {doing.entries && <ChevronRight size={14} aria-hidden className="shrink-0 text-faint" />}
        </Entry>
      ))}
    </Command.Group>
  )
}

const doings: readonly Doing[] = [
  { label: 'New session', icon: <Plus size={15} />, keys: ['N'], onSelect: () => go({ name: 'new' }) },
  {
    label: 'Inbox: what waits for you',
    icon: <Inbox size={15} />,
    keys: ['I'],
    onSelect: () => go({ name: 'inbox' }),
  },
  {
    label: 'Go on with a conversation of an agent (import)',
    icon: <History size={15} />,
    onSelect: () => go({ name: 'import' }),
  },
  ...settingsSections.map((section) => ({
    label: `Settings: ${sectionNames[section].toLowerCase()}`,
    icon: <Settings size={15} />,
    ...(section === 'keys' && { keys: ['?'] }),
    onSelect: () => go({ name: 'settings', section }),
  })),
  { label: 'Theme: light', icon: <Sun size={15} />, onSelect: () => prefer({ theme: 'light' }) },
  { label: 'Theme: dark', icon: <Moon size={15} />, onSelect: () => prefer({ theme: 'dark' }) },
  { label: 'Theme: as the system', icon: <Sun size={15} />, onSelect: () => prefer({ theme: 'system' }) },
  {
    label: 'Expand everything, or fold what is quiet',
    icon: <UnfoldVertical size={15} />,
    onSelect: () => prefer({ expandAll: !preferences.get().expandAll }),
  },
]

function SessionEntry({ session, onChoose }: { session: SessionSummary; onChoose: (doing: Doing) => void }) {
  const { agents } = useAgents()
  const { id, title, cwd, archived } = session
  const icon = archived ? <Archive size={15} /> : <StatusMark session={session} unread={false} />
  const label = visible(title) || 'Untitled'
  const open = () => onChoose({ label, icon, onSelect: () => go({ name: 'session', id }) })
  return (
    <Entry value={id} keywords={[title, cwd]} icon={icon} onSelect={open}>
      <span className="min-w-0 flex-1 truncate">{label}</span>
      <span className="shrink-0 text-xs text-faint">
        {agents.find((agent) => agent.id === session.agent)?.name ?? session.agent} · {folderName(cwd)}
      </span>
    </Entry>
  )
}

const groupLook =
  '[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-2xs [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:tracking-wide [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:uppercase'

function Entry({
  icon,
  value,
  keywords,
  onSelect,
  children,
}: {
  icon: ReactNode
  value: string
  /** Its names, where the value is none. */
  keywords?: string[]
  onSelect: () => void
  children: ReactNode
}) {
  return (
    <Command.Item
      value={value}
      {...(keywords && { keywords })}
      onSelect={onSelect}
      className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm data-[selected=true]:bg-hover pointer-coarse:min-h-11"
    >
      <span className="flex w-4 shrink-0 justify-center text-soft [&>span]:pt-0">{icon}</span>
      {children}
    </Command.Item>
  )
}
