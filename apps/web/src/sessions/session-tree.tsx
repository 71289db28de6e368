import type { Project, SessionSummary } from '@parley/protocol'
import { type KeyboardEvent, useId, useState } from 'react'
import { useAgentNames } from '../base/agents.ts'
import { useNow } from '../base/clock.ts'
import { folderName, plural } from '../base/format.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { type Projects, projectIdFor } from '../session-data/projects.ts'
import { isUnread } from '../session-data/seen.logic.ts'
import { useSeen } from '../session-data/seen.ts'
import { GroupHeading } from './group-heading.tsx'
import {
  groupsOf,
  lookingAlike,
  pinnedKey,
  type SessionGroup,
  sharedNames,
  shownAtFirst,
} from './groups.logic.ts'
import { SessionRow } from './session-row.tsx'

const projectDialog = lazyPart(() => import('./project-dialog.tsx'))

type TreeProps = {
  sessions: readonly SessionSummary[]
  projects: Projects
  /** Whether the sessions are the results of a search: one list, in which each row names its project. */
  isFlat: boolean
  here: string | undefined
  /** The item that is the tab stop. */
  stop: string | undefined
  onFocusLost: (id: string) => void
}

/** The sessions as a tree: groups that can be folded, each with one row per session. */
export function SessionTree(props: TreeProps) {
  const { sessions, projects, isFlat } = props
  const [asked, setAsked] = useState<string>()
  if (isFlat)
    return (
      <div role="tree" aria-label="Sessions">
        <Rows {...props} level={1} sessions={sessions} namesProject />
      </div>
    )
  const groups = groupsOf(sessions, projects, projectIdFor)
  const shared = sharedNames(groups)
  const project = asked === undefined ? undefined : projects.get(asked)
  return (
    <>
      <div role="tree" aria-label="Sessions" className="flex flex-col gap-1.5">
        {groups.map((group) => (
          <Group
            key={group.key}
            {...props}
            group={group}
            project={projects.get(group.key)}
            waiting={group.sessions.reduce((sum, session) => sum + session.waiting, 0)}
            isNameShared={shared.has(group.name)}
            onSettings={() => setAsked(group.key)}
          />
        ))}
      </div>
      {project && (
        <Lazy part={projectDialog}>
          {(ProjectDialog) => <ProjectDialog project={project} onClose={() => setAsked(undefined)} />}
        </Lazy>
      )}
    </>
  )
}

type GroupProps = TreeProps & {
  group: SessionGroup
  project: Project | undefined
  waiting: number
  isNameShared: boolean
  onSettings: () => void
}

/** The keys of tree items, from which the tab stop is restored. */
const groupItem = (key: string) => `group ${key}`
const moreItem = (key: string) => `more ${key}`

function Group(props: GroupProps) {
  const { group, project, waiting, isNameShared, here, stop, onSettings } = props
  const { key, sessions } = group
  const isFolded = useStore(preferences, ({ foldedGroups }) => foldedGroups[key] === true)
  const [showsAll, setShowsAll] = useState(false)
  const nameId = useId()
  const fold = (folded: boolean) => {
    const { [key]: _, ...others } = preferences.get().foldedGroups
    setPreferences({ foldedGroups: folded ? { ...others, [key]: true } : others })
  }
  const shown = showsAll ? sessions : shownAtFirst(sessions, here)
  return (
    <div role="none" data-group={key}>
      <div
        role="treeitem"
        aria-level={1}
        aria-labelledby={nameId}
        aria-expanded={!isFolded}
        data-item={groupItem(key)}
        tabIndex={stop === groupItem(key) ? 0 : -1}
        onKeyDown={(event) => {
          if (event.target !== event.currentTarget) return
          if (event.key === 'Enter' || event.key === ' ') fold(!isFolded)
          else if (event.key === 'ArrowRight' && isFolded) fold(false)
          else if (event.key === 'ArrowLeft' && !isFolded) fold(true)
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
        className="group/head relative flex rounded-md focus-visible:-outline-offset-2"
      >
        <GroupHeading
          id={nameId}
          group={group}
          project={project}
          waiting={waiting}
          isNameShared={isNameShared}
          isFolded={isFolded}
          onFold={() => fold(!isFolded)}
          onSettings={onSettings}
        />
      </div>
      {!isFolded && (
        <>
          <Rows {...props} level={2} sessions={shown} namesProject={key === pinnedKey} />
          {shown.length < sessions.length && (
            <MoreRow
              item={moreItem(key)}
              tabStop={stop === moreItem(key)}
              count={sessions.length - shown.length}
              onShow={() => setShowsAll(true)}
            />
          )}
        </>
      )}
    </div>
  )
}

type RowsProps = TreeProps & { level: number; namesProject: boolean }

function Rows({ sessions, projects, here, stop, level, namesProject, onFocusLost }: RowsProps) {
  const seen = useSeen()
  const now = useNow()
  const agentName = useAgentNames()
  const alike = lookingAlike(sessions, agentName)
  return sessions.map((session) => {
    const project = projects.get(projectIdFor(session))
    const branch =
      session.worktree?.branch ?? project?.folders.find(({ folder }) => folder === session.cwd)?.branch
    return (
      <SessionRow
        key={session.id}
        session={session}
        agentName={agentName(session.agent)}
        showsAgent={alike.has(session.id)}
        projectName={namesProject ? (project?.name ?? folderName(session.cwd)) : undefined}
        branch={branch}
        level={level}
        current={session.id === here}
        unread={session.id !== here && isUnread(session, seen)}
        now={now}
        tabStop={session.id === stop}
        onFocusLost={onFocusLost}
      />
    )
  })
}

type MoreProps = { item: string; tabStop: boolean; count: number; onShow: () => void }

function MoreRow({ item, tabStop, count, onShow }: MoreProps) {
  const show = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    // This row disappears, so the focus moves to the row above it.
    const row = currentTarget.previousElementSibling
    if (row instanceof HTMLElement) row.focus({ preventScroll: true })
    onShow()
  }
  return (
    <div
      role="treeitem"
      aria-level={2}
      data-item={item}
      tabIndex={tabStop ? 0 : -1}
      onClick={show}
      onKeyDown={(event: KeyboardEvent<HTMLElement>) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        show(event)
      }}
      className="flex h-7 cursor-pointer items-center rounded-md pl-6 text-xs text-soft hover:bg-hover/60 focus-visible:-outline-offset-2 pointer-coarse:h-11"
    >
      Show {plural(count, 'more session')}
    </div>
  )
}
