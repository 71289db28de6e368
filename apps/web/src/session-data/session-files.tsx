import { type ReactNode, useMemo } from 'react'
import { pathInside } from '../base/paths.logic.ts'
import type { Route } from '../base/route.logic.ts'
import { FileLinks, type FilePlaces } from '../parts/file-link.tsx'

type Props = {
  session: { readonly id: string; readonly cwd: string }
  /** The folder, relative to the session's folder, in which relative paths start. */
  from?: string
  children: ReactNode
}

/**
 * Inside this element, paths link to the files of a session. Whether the file exists is checked when the link
 * is followed.
 */
export function SessionFiles({ session: { id, cwd }, from = '', children }: Props) {
  const places = useMemo<FilePlaces>(
    () => ({
      folder: cwd,
      routeOf: ({ path, line }) => {
        const file = pathInside(cwd, path, from) ?? (path.startsWith('/') ? path : undefined)
        return file === undefined || file === '' ? undefined : fileRoute(id, file, line)
      },
    }),
    [id, cwd, from],
  )
  return <FileLinks value={places}>{children}</FileLinks>
}

function fileRoute(id: string, file: string, line: number | undefined): Route {
  return { name: 'session', id, file, ...(line !== undefined && { line }) }
}
