import { useSessions } from '@parley/client/react'
import { Command } from 'cmdk'
import { Archive, History, Inbox, Moon, Plus, Settings, Sun, UnfoldVertical } from 'lucide-react'
import type { ReactNode } from 'react'
import { useAgents } from '../page/agents.ts'
import { prefer, preferences } from '../page/preferences.ts'
import { go } from '../page/route.ts'
import { folderName, visible } from '../page/words.logic.ts'
import { Dialog } from '../parts/dialog.tsx'
import { StatusMark } from '../sessions/status-mark.tsx'

/** Everything by its name: sessions and what can be done. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const { sessions } = useSessions({ archived: 'all' })
  const { agents } = useAgents()
  const run = (work: () => void) => () => {
    onClose()
    work()
  }
  return (
    <Dialog label="Command palette" onClose={onClose} className="mt-[12dvh]">
      <Command label="Command palette" loop>
        <Command.Input
          autoFocus
          placeholder="Go to a session, or do something"
          className="w-full border-b border-line bg-transparent px-4 py-3 text-base outline-none"
        />
        <Command.List className="max-h-[50dvh] overflow-y-auto p-1.5">
          <Command.Empty className="px-3 py-6 text-center text-sm text-soft">
            Nothing has that name.
          </Command.Empty>
          <Command.Group heading="Do" className={groupLook}>
            <Entry icon={<Plus size={15} />} onSelect={run(() => go({ name: 'new' }))}>
              New session
            </Entry>
            <Entry icon={<History size={15} />} onSelect={run(() => go({ name: 'import' }))}>
              Go on with a conversation of an agent (import)
            </Entry>
            <Entry icon={<Inbox size={15} />} onSelect={run(() => go({ name: 'inbox' }))}>
              Inbox: what waits for you
            </Entry>
            <Entry
              icon={<Settings size={15} />}
              onSelect={run(() => go({ name: 'settings', section: 'agents' }))}
            >
              Settings: agents
            </Entry>
            <Entry
              icon={<Settings size={15} />}
              onSelect={run(() => go({ name: 'settings', section: 'permissions' }))}
            >
              Settings: rules and trust
            </Entry>
            <Entry
              icon={<Settings size={15} />}
              onSelect={run(() => go({ name: 'settings', section: 'keys' }))}
            >
              Settings: keys
            </Entry>
            <Entry icon={<Sun size={15} />} onSelect={run(() => prefer({ theme: 'light' }))}>
              Theme: light
            </Entry>
            <Entry icon={<Moon size={15} />} onSelect={run(() => prefer({ theme: 'dark' }))}>
              Theme: dark
            </Entry>
            <Entry icon={<Sun size={15} />} onSelect={run(() => prefer({ theme: 'system' }))}>
              Theme: as the system
            </Entry>
            <Entry
              icon={<UnfoldVertical size={15} />}
              onSelect={run(() => prefer({ expandAll: !preferences.get().expandAll }))}
            >
              Expand everything, or fold what is quiet
            </Entry>
          </Command.Group>
          <Command.Group heading="Sessions" className={groupLook}>
            {sessions.map((session) => (
              <Entry
                key={session.id}
                value={`${session.title} ${session.cwd} ${session.id}`}
                icon={
                  session.archived ? <Archive size={15} /> : <StatusMark session={session} unread={false} />
                }
                onSelect={run(() => go({ name: 'session', id: session.id }))}
              >
                <span className="min-w-0 flex-1 truncate">{visible(session.title) || 'Untitled'}</span>
                <span className="shrink-0 text-xs text-faint">
                  {agents.find(({ id }) => id === session.agent)?.name ?? session.agent} ·{' '}
                  {folderName(session.cwd)}
                </span>
              </Entry>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  )
}

const groupLook =
  '[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-2xs [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:tracking-wide [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:uppercase'

function Entry({
  icon,
  value,
  onSelect,
  children,
}: {
  icon: ReactNode
  value?: string
  onSelect: () => void
  children: ReactNode
}) {
  return (
    <Command.Item
      {...(value !== undefined && { value })}
      onSelect={onSelect}
      className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm data-[selected=true]:bg-hover pointer-coarse:min-h-11"
    >
      <span className="flex w-4 shrink-0 justify-center text-soft [&>span]:pt-0">{icon}</span>
      {children}
    </Command.Item>
  )
}
