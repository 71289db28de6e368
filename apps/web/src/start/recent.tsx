import type { Project, SessionSummary } from '@parley/protocol'
import { Folder, GitBranch } from 'lucide-react'
import type { ReactNode } from 'react'
import { useNow } from '../base/clock.ts'
import { ago, visible } from '../base/format.logic.ts'
import { isOwnPlace } from '../base/nodes.logic.ts'
import { useNodes } from '../base/nodes.ts'
import { Link } from '../parts/link.tsx'
import { folderOfProject, projectIdFor, useProjects } from '../session-data/projects.ts'
import { useAllSessions } from '../session-data/session-list.ts'
import type { SessionChoices } from './session-choices.ts'

const maxShown = 5
const row =
  'flex min-h-8 w-full min-w-0 items-center gap-2 rounded-md px-2 text-left text-sm hover:bg-hover pointer-coarse:min-h-11'

/** The projects and the sessions that were used last, below the composer. */
export default function Recent({ choices }: { choices: SessionChoices }) {
  const projects = useProjects()
  const { sessions } = useAllSessions()
  const now = useNow()
  const used = [...projects.values()].filter(({ usedAt }) => usedAt !== undefined).slice(0, maxShown)
  const last = sessions.toSorted((a, b) => b.updatedAt - a.updatedAt).slice(0, maxShown)
  if (used.length + last.length === 0) return null
  return (
    <div className="grid gap-x-6 gap-y-5 pt-6 sm:grid-cols-2">
      {used.length > 0 && (
        <List label="Recent projects">
          {used.map((project) => (
            <OwnPlace key={project.id} place={project.place}>
              <li>
                <ProjectChoice project={project} choices={choices} />
              </li>
            </OwnPlace>
          ))}
        </List>
      )}
      {last.length > 0 && (
        <List label="Recent sessions">
          {last.map((session) => (
            <li key={session.id}>
              <SessionLink session={session} project={projects.get(projectIdFor(session))} now={now} />
            </li>
          ))}
        </List>
      )}
    </div>
  )
}

function List({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section aria-label={label} className="min-w-0">
      <h2 className="px-2 pb-1 text-xs font-medium text-soft">{label}</h2>
      <ul>{children}</ul>
    </section>
  )
}

/** Only a server on the machine that has a folder can start a session there. */
function OwnPlace({ place, children }: { place: string | undefined; children: ReactNode }) {
  return place === undefined ? children : <IfOwnPlace place={place}>{children}</IfOwnPlace>
}

/** A separate component, because only a server that is one of several nodes needs the list of nodes. */
function IfOwnPlace({ place, children }: { place: string; children: ReactNode }) {
  return useNodes(({ nodes }) => isOwnPlace(nodes, place)) ? children : null
}

/** Puts the folder of a project into the folder field. */
function ProjectChoice({ project, choices }: { project: Project; choices: SessionChoices }) {
  const { name, branch } = project
  const folder = folderOfProject(project)
  const chosen = folder === choices.folder.trim()
  return (
    <button
      type="button"
      aria-pressed={chosen}
      title={visible(folder)}
      onClick={() => {
        choices.chooseFolder(folder)
        choices.checkFolder()
      }}
      className={`${row} ${chosen ? 'bg-mark-wash' : ''}`}
    >
      <Folder size={14} aria-hidden className="shrink-0 text-soft" />
      <span className="min-w-0 truncate">{visible(name)}</span>
      {branch !== undefined && (
        <span className="ml-auto flex max-w-1/2 min-w-0 items-center gap-1 text-xs text-faint">
          <GitBranch size={12} aria-hidden className="shrink-0" />
          <span className="sr-only">on branch </span>
          <span className="truncate">{visible(branch)}</span>
        </span>
      )}
    </button>
  )
}

type SessionLinkProps = { session: SessionSummary; project: Project | undefined; now: number }

function SessionLink({ session, project, now }: SessionLinkProps) {
  return (
    <Link to={{ name: 'session', id: session.id }} title={visible(session.cwd)} className={row}>
      <span className="min-w-0 truncate">{visible(session.title) || 'Untitled'}</span>
      <span className="ml-auto flex max-w-2/5 shrink-0 items-center gap-2 text-xs text-faint">
        {project && <span className="truncate">{visible(project.name)}</span>}
        <span className="shrink-0 tabular-nums">{ago(session.updatedAt, now)}</span>
      </span>
    </Link>
  )
}
