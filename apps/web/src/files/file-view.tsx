import type { FileContent } from '@parley/protocol'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { hasFocusClaim } from '../base/focus.ts'
import { parentOf } from '../base/paths.logic.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { replaceRoute } from '../base/route.ts'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { useSessionState } from '../session-data/session-context.tsx'
import { SessionFiles } from '../session-data/session-files.tsx'
import { sizeText } from './bytes.logic.ts'
import { FileHead } from './file-head.tsx'
import { FilePicture } from './file-picture.tsx'
import { FilesNamedLike, ProblemText } from './file-problem.tsx'
import { type Rendering, renderingOf, svgAddress } from './kinds.logic.ts'
import { fileProblem } from './problem.logic.ts'
import { TextFile } from './text-file.tsx'
import { useFile } from './use-file.ts'

export type FileRoute = SessionRoute & { readonly file: string }

type Props = { route: FileRoute; finding: boolean; onFind: (open: boolean) => void }

/** A file beside the conversation, as it is now or as it was in a version. */
export function FileView({ route, finding, onFind }: Props) {
  const { file, error, refresh } = useFile({ sessionId: route.id, path: route.file, rev: route.rev })
  const folder = useSessionState((state) => state.cwd)
  const [asSource, setAsSource] = useState(false)
  const rendering = file && renderingOf(file)
  // Line numbers exist only in the source.
  const isRendered = rendering !== undefined && !asSource && route.line === undefined
  const place = useRef<HTMLElement>(null)
  useFocusOnOpen(place, route, file !== undefined || error !== undefined)
  const problem =
    error === undefined ? undefined : fileProblem(error, { path: route.file, folder, rev: route.rev })
  return (
    <section
      ref={place}
      tabIndex={-1}
      aria-label={route.file}
      className="flex min-h-0 min-w-0 flex-1 flex-col outline-none"
    >
      <FileHead
        route={route}
        file={file}
        rendered={rendering && isRendered}
        finding={finding}
        onRender={(rendered) => {
          setAsSource(!rendered)
          const { line: _, ...here } = route
          if (rendered) replaceRoute(here)
        }}
        onFind={onFind}
        onRefresh={refresh}
      />
      {problem && (
        <div className={`px-4 py-3 ${file ? 'border-b border-line' : ''}`}>
          <ProblemText problem={problem} />
          {problem.isMissing && <FilesNamedLike route={route} />}
        </div>
      )}
      {file && (
        <Body
          file={file}
          route={route}
          rendering={isRendered ? rendering : undefined}
          finding={finding}
          onFind={onFind}
        />
      )}
    </section>
  )
}

type BodyProps = Props & { file: FileContent; rendering: Rendering | undefined }

function Body({ file, route, rendering, finding, onFind }: BodyProps) {
  const folder = useSessionState((state) => state.cwd)
  if (file.type === 'binary')
    return <Note>A binary file of {sizeText(file.size)}. Its content cannot be shown.</Note>
  if (file.type === 'image')
    return <FilePicture address={`data:${file.mimeType};base64,${file.data}`} name={file.path} />
  if (rendering === 'picture') return <FilePicture address={svgAddress(file.text)} name={file.path} />
  if (rendering === 'markdown') {
    return (
      <ScrollRegion
        label={`Text of ${file.path}`}
        className="min-h-0 flex-1 overflow-auto px-5 py-4 -outline-offset-2"
      >
        <SessionFiles session={{ id: route.id, cwd: folder }} from={parentOf(file.path)}>
          <LazyMarkdown text={file.text} />
        </SessionFiles>
      </ScrollRegion>
    )
  }
  if (file.size === 0) return <Note>The file is empty.</Note>
  return (
    <>
      {file.cut && (
        <p role="status" className="border-b border-line px-4 py-1.5 text-xs text-soft">
          Only the first 2 MB of {sizeText(file.size)} are shown.
        </p>
      )}
      <TextFile key={file.path} text={file.text} route={route} finding={finding} onFind={onFind} />
    </>
  )
}

function Note({ children }: { children: ReactNode }) {
  return <p className="px-4 py-3 text-sm text-soft">{children}</p>
}

/**
 * Focuses a file that the person opened, once it is loaded. Another version of the same file does not take
 * the focus.
 */
function useFocusOnOpen(place: RefObject<HTMLElement | null>, route: FileRoute, isReady: boolean): void {
  const last = useRef<FileRoute>(undefined)
  useEffect(() => {
    const before = last.current
    if (!isReady || before === route) return
    last.current = route
    const isOpened = before ? before.rev === route.rev : hasFocusClaim('files')
    if (!isOpened) return
    const body = place.current?.querySelector<HTMLElement>('[role=group]') ?? place.current
    body?.focus({ preventScroll: true })
  }, [place, route, isReady])
}
