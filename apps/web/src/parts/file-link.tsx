import { FileText } from 'lucide-react'
import { createContext, type ReactNode, useContext } from 'react'
import { visible } from '../base/format.logic.ts'
import type { Route } from '../base/route.logic.ts'
import { Link } from './link.tsx'
import type { NamedPath } from './path-text.logic.ts'
import { pathPieces } from './path-text.logic.ts'

/** The folder of the paths, and the function that returns the route of one of its files. */
export type FilePlaces = {
  readonly folder: string
  /** Undefined for a path that cannot be a file of the session. */
  routeOf(to: NamedPath): Route | undefined
}

const Places = createContext<FilePlaces | undefined>(undefined)

/** Turns paths inside this element into links. Without it, paths are plain text. */
export const FileLinks = Places

export function useFilePlaces(): FilePlaces | undefined {
  return useContext(Places)
}

type Props = { to: NamedPath; className?: string; children: ReactNode }

/** A path that links to the file, or plain text if the file cannot be shown. */
export function FileLink({ to, className = '', children }: Props) {
  const route = useFilePlaces()?.routeOf(to)
  if (!route) return children
  return (
    <Link to={route} title={titleOf(to)} className={`file-link ${className}`}>
      {children}
    </Link>
  )
}

/** An icon that links to a file; nothing if the file cannot be shown. */
export function FileIconLink({ to, className = '' }: Omit<Props, 'children'>) {
  const route = useFilePlaces()?.routeOf(to)
  if (!route) return null
  return (
    <Link
      to={route}
      aria-label={titleOf(to)}
      title={titleOf(to)}
      className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink pointer-coarse:size-11 ${className}`}
    >
      <FileText size={14} />
    </Link>
  )
}

function titleOf({ path, line }: NamedPath): string {
  return line === undefined ? `Show ${visible(path)}` : `Show ${visible(path)}, line ${line}`
}

/** A text whose paths link to their files. */
export function TextWithPaths({ text }: { text: string }) {
  const places = useFilePlaces()
  if (!places) return text
  return pathPieces(text, places.folder).map((piece, index) =>
    piece.to ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
      <FileLink key={index} to={piece.to}>
        {piece.text}
      </FileLink>
    ) : (
      piece.text
    ),
  )
}
