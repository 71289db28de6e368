import type { Project } from '@parley/protocol'
import { ChevronRight, Ellipsis, GitBranch } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { folderName, visible } from '../base/format.logic.ts'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import type { SessionGroup } from './groups.logic.ts'
import { WaitingCount } from './waiting-count.tsx'

const RowMachine = lazy(() => import('./row-machine.tsx'))
const projectMenu = lazyPart(() => import('./project-menu.tsx'))

type Props = {
  id: string
  group: SessionGroup
  project: Project | undefined
  waiting: number
  isFolded: boolean
  /** Whether another project has the same name. */
  isNameShared: boolean
  onFold: () => void
  onSettings: () => void
}

/** The heading of a group: its name, the branch that is checked out, and the number of open requests. */
export function GroupHeading(props: Props) {
  const { id, group, project, waiting, isFolded, isNameShared, onFold, onSettings } = props
  const { root, place } = group
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the tree item around it has the role */}
      <div
        id={id}
        onClick={onFold}
        title={root === undefined ? undefined : visible(root)}
        className="flex h-7 min-w-0 flex-1 cursor-pointer items-center gap-1.5 rounded-md pr-2 pl-1 text-xs hover:bg-hover/60 pointer-coarse:h-11 pointer-coarse:pr-11"
      >
        <span className="-mr-0.5 flex w-4 shrink-0 justify-center text-faint">
          <ChevronRight size={14} aria-hidden className={isFolded ? '' : 'rotate-90'} />
        </span>
        <span className="max-w-7/10 shrink-0 truncate font-semibold text-soft">{visible(group.name)}</span>
        <span className="flex min-w-0 flex-1 items-center gap-1.5 text-faint">
          {isNameShared && root !== undefined && (
            <span className="min-w-0 truncate">
              {visible(folderName(root.slice(0, -folderName(root).length)))}
            </span>
          )}
          {project?.branch !== undefined && (
            <span title={`Branch ${visible(project.branch)}`} className="flex min-w-0 items-center gap-0.5">
              <GitBranch size={12} aria-hidden className="shrink-0" />
              <span className="truncate">{visible(project.branch)}</span>
            </span>
          )}
          {place !== undefined && (
            <Suspense>
              <RowMachine place={place} />
            </Suspense>
          )}
        </span>
        <span className="group-focus-within/head:invisible group-hover/head:invisible pointer-coarse:visible!">
          {waiting > 0 && <WaitingCount count={waiting} isShort />}
        </span>
      </div>
      {root !== undefined && (
        <Menu
          label={`Menu of the project ${visible(group.name)}`}
          tabIndex={-1}
          className="absolute! top-0 right-0.5 opacity-0 group-focus-within/head:opacity-100 group-hover/head:opacity-100 aria-expanded:opacity-100 pointer-coarse:right-0 pointer-coarse:opacity-100"
          part={projectMenu}
          list={(ProjectMenu, menu) => (
            <ProjectMenu {...menu} root={root} project={project} onSettings={onSettings} />
          )}
        >
          <Ellipsis size={15} />
        </Menu>
      )}
    </>
  )
}
