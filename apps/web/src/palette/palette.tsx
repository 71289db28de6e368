import { useSessions } from '@parley/client/react'
import type { SessionSummary } from '@parley/protocol'
import { Command } from 'cmdk'
import { Archive, History, Inbox, Moon, Plus, Settings, Sun, UnfoldVertical } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useAgents } from '../page/agents.ts'
import { prefer, preferences } from '../page/preferences.ts'
import { go, useRoute } from '../page/route.ts'
import { useAllSessions } from '../page/sessions.ts'
import { folderName, visible } from '../page/words.logic.ts'
import { Dialog } from '../parts/dialog.tsx'
import { StatusMark } from '../sessions/status-mark.tsx'
import { matchOf } from './match.logic.ts'
import { doingsOf } from './session-doings.tsx'

/** As many sessions are shown before anything is typed. */
const mostAtFirst = 5

/** Everything by its name: sessions and what can be done, with the one that is open and without. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState('')
  const all = useSessions({ archived: 'all' })
  // Known already, so that the first of them is chosen from the start.
  const known = useAllSessions().sessions
  const sessions = all.status === 'loading' ? known : all.sessions
  const route = useRoute()
  const here = route.name === 'session' ? sessions.find(({ id }) => id === route.id) : undefined
  const others = sessions.filter((session) => session !== here)
  const listed =
    words.trim() === '' ? others.filter(({ archived }) => !archived).slice(0, mostAtFirst) : others
  const run = (work: () => void) => () => {
    onClose()
    work()
  }
  return (
    <Dialog label="Command palette" onClose={onClose} className="mt-[12dvh]">
      <Command
        label="Command palette"
        loop
        filter={(value, typed, keywords = []) => matchOf([...keywords, value].join(' '), typed)}
      >
        <Command.Input
          autoFocus
          value={words}
          onValueChange={setWords}
          placeholder="Go to a session, or do something"
          className="w-full border-b border-line bg-transparent px-4 py-3 text-base outline-none"
        />
        <Command.List className="max-h-[60dvh] overflow-y-auto p-1.5">
          <Command.Empty className="px-3 py-6 text-center text-sm text-soft">
            Nothing has that name.
          </Command.Empty>
          {listed.length > 0 && (
            <Command.Group heading="Sessions" className={groupLook}>
              {listed.map((session) => (
                <SessionEntry
                  key={session.id}
                  session={session}
                  onSelect={run(() => go({ name: 'session', id: session.id }))}
                />
              ))}
            </Command.Group>
          )}
          {here && (
            <Command.Group heading="This session" className={groupLook}>
              {doingsOf(here).map(({ label, icon, onSelect }) => (
                <Entry key={label} icon={icon} value={`${label} (this session)`} onSelect={run(onSelect)}>
                  {label}
                </Entry>
              ))}
            </Command.Group>
          )}
          <Command.Group heading="Do" className={groupLook}>
            {doings.map(({ label, icon, onSelect }) => (
              <Entry key={label} icon={icon} onSelect={run(onSelect)}>
                {label}
              </Entry>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  )
}

const doings = [
  { label: 'New session', icon: <Plus size={15} />, onSelect: () => go({ name: 'new' }) },
  { label: 'Inbox: what waits for you', icon: <Inbox size={15} />, onSelect: () => go({ name: 'inbox' }) },
  {
    label: 'Go on with a conversation of an agent (import)',
    icon: <History size={15} />,
    onSelect: () => go({ name: 'import' }),
  },
  ...(
    [
      ['agents', 'agents'],
      ['permissions', 'rules and trust'],
      ['appearance', 'this browser'],
      ['keys', 'keys'],
    ] as const
  ).map(([section, name]) => ({
    label: `Settings: ${name}`,
    icon: <Settings size={15} />,
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

function SessionEntry({ session, onSelect }: { session: SessionSummary; onSelect: () => void }) {
  const { agents } = useAgents()
  const { id, title, cwd, archived } = session
  return (
    <Entry
      value={id}
      keywords={[title, cwd]}
      icon={archived ? <Archive size={15} /> : <StatusMark session={session} unread={false} />}
      onSelect={onSelect}
    >
      <span className="min-w-0 flex-1 truncate">{visible(title) || 'Untitled'}</span>
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
  value?: string
  /** Its names, where the value is none. */
  keywords?: string[]
  onSelect: () => void
  children: ReactNode
}) {
  return (
    <Command.Item
      {...(value !== undefined && { value })}
      {...(keywords && { keywords })}
      onSelect={onSelect}
      className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm data-[selected=true]:bg-hover pointer-coarse:min-h-11"
    >
      <span className="flex w-4 shrink-0 justify-center text-soft [&>span]:pt-0">{icon}</span>
      {children}
    </Command.Item>
  )
}
