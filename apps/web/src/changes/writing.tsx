import { type ChangeScope, type FileChange, type HunkRange, hasCode } from '@parley/protocol'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { client } from '../base/client.ts'
import { plural, visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { toast, toastError } from '../parts/toasts.tsx'
import { useSessionId } from '../session-data/session-context.tsx'

/** The actions on the shown changes. */
export type Writing = {
  /** Discards the changes of a file, or some hunks of its patch. */
  discard(file: FileChange, hunks?: readonly HunkRange[]): void
  /**
   * Stages a file, or unstages it if it is staged. With `some`, stages or unstages only these hunks. Absent if the
   * folder is not compared with HEAD.
   */
  stage?(file: FileChange, some?: SomeHunks): void
}

/** Hunks of the unstaged changes or, to unstage them, of the staged changes. */
type SomeHunks = { readonly hunks: readonly HunkRange[]; readonly unstage: boolean }

const WritingContext = createContext<Writing | undefined>(undefined)

/** Undefined if the person may not change files, or if the shown changes are not known yet. */
export const useWriting = () => useContext(WritingContext)

type ProviderProps = {
  base: string | undefined
  scope: ChangeScope
  onDone: () => void
  children: ReactNode
}

export function WritingProvider({ base, scope, onDone, children }: ProviderProps) {
  const sessionId = useSessionId()
  const decides = useMay('decide')
  const writing = useMemo(
    () => (decides && base !== undefined ? createWriting({ sessionId, base, scope, onDone }) : undefined),
    [decides, sessionId, base, scope, onDone],
  )
  return <WritingContext value={writing}>{children}</WritingContext>
}

/** The time for which a discard can be undone from its message. */
const undoMs = 20_000

type Parts = {
  readonly sessionId: string
  readonly base: string
  readonly scope: ChangeScope
  readonly onDone: () => void
}

function createWriting({ sessionId, base, scope, onDone }: Parts): Writing {
  return {
    ...(scope === 'commit' && {
      stage: (file, some) =>
        void stage(sessionId, file, some).then(onDone, (thrown) => refused(thrown, onDone)),
    }),
    discard(file, hunks) {
      const { path, from, blob } = file
      if (blob === undefined) return void toast('This file is too large to be discarded here.')
      const files = [{ path, blob, ...(from !== undefined && { from }), ...(hunks && { hunks: [...hunks] }) }]
      const what = hunks
        ? `${plural(hunks.length, 'change')} of ${visible(path)}`
        : `the changes of ${visible(path)}`
      client.command(sessionId, { type: 'changes.discard', base, files }).then(
        ({ seq }) => {
          onDone()
          toast(`Discarded ${what}`, { ms: undoMs, action: { label: 'Undo', run: () => undo(seq) } })
        },
        (thrown) => refused(thrown, onDone),
      )
    },
  }

  function undo(discarded: number): void {
    client.command(sessionId, { type: 'changes.restore', discarded }).then(
      () => {
        onDone()
        toast('Restored the discarded changes')
      },
      (thrown) => refused(thrown, onDone),
    )
  }
}

async function stage(
  sessionId: string,
  { path, from, blob, staged }: FileChange,
  some: SomeHunks | undefined,
): Promise<void> {
  const moved = from !== undefined && { from }
  const hunks = some && { hunks: [...some.hunks] }
  if (!(some?.unstage ?? staged === 'all')) {
    if (blob === undefined) return void toast('This file is too large to be staged here.')
    const files = [{ path, blob, ...moved, ...hunks }]
    await client.command(sessionId, { type: 'changes.stage', files })
    return
  }
  // Staged content can differ from the file in the folder, for example because a filter changed it.
  const inIndex = await client.call('listChanges', { params: { id: sessionId }, query: { side: 'staged' } })
  const files = inIndex.files.flatMap((file) =>
    file.path === path && file.blob !== undefined ? [{ path, blob: file.blob, ...moved, ...hunks }] : [],
  )
  if (files.length > 0) await client.command(sessionId, { type: 'changes.unstage', files })
}

/** After a conflict the shown changes are outdated. */
function refused(thrown: unknown, onDone: () => void): void {
  if (hasCode(thrown, 'conflict')) onDone()
  toastError(thrown)
}
