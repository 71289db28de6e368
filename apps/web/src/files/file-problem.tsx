import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { folderName, visible } from '../base/format.logic.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { Link } from '../parts/link.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import type { FileProblem } from './problem.logic.ts'

/** Why a file or folder cannot be shown. */
export function ProblemText({ problem: { title, text, needsTerminal } }: { problem: FileProblem }) {
  return (
    <div role="status">
      <h3 className="pb-1 text-sm font-semibold">{title}</h3>
      <p className="text-sm text-pretty [overflow-wrap:anywhere] text-soft">{text}</p>
      {needsTerminal && <NeedsScope what="Reading such files" scope="terminal" className="pt-1" />}
    </div>
  )
}

/** Files of the session with the same name as the missing file. */
export function FilesNamedLike({ route }: { route: SessionRoute & { readonly file: string } }) {
  const id = useSessionId()
  const name = folderName(route.file)
  const [files, setFiles] = useState<readonly string[]>([])
  useEffect(
    () =>
      abortable((signal) =>
        client
          .call('findFiles', { params: { id }, query: { q: name.slice(0, 500), limit: 20 }, signal })
          .then(({ files }) => setFiles(files.filter((path) => folderName(path) === name).slice(0, 5)))
          .catch(() => setFiles([])),
      ),
    [id, name],
  )
  if (files.length === 0) return null
  return (
    <div className="pt-4 text-sm">
      <h4 className="pb-1 font-semibold">Files with this name</h4>
      <ul>
        {files.map((path) => (
          <li key={path}>
            <Link
              to={{ ...route, file: path }}
              className="inline-flex min-h-7 items-center font-mono text-xs [overflow-wrap:anywhere] text-mark hover:underline pointer-coarse:min-h-11"
            >
              {visible(path)}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}
