import type { Attempt, Changes, FileChange, Round } from '@parley/protocol'
import { startTransition, useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { type Stamps, stampsAfter } from '../changes/stamps.logic.ts'

type Seen = { readonly changes?: Changes; readonly stamps: Stamps; readonly error?: string }

/** The files in which the attempts differ. The list is read again when one of the two sessions has changed. */
export function useCompared(
  { id, attempts }: Round,
  { attempt: to, seq }: Attempt,
  from: number | undefined,
): Seen {
  const [seen, setSeen] = useState<Seen>({ stamps: new Map() })
  const other = attempts.find(({ attempt }) => attempt === from)?.seq
  const before = useRef<readonly FileChange[]>([])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of a session may be a change of its files
  useEffect(() => {
    const query = { to, ...(from !== undefined && { from }) }
    const show = (changes: Changes) => {
      const update = { before: before.current, after: changes.files }
      const paths = changedPaths(update)
      before.current = changes.files
      startTransition(() =>
        setSeen(({ stamps }) => ({ changes, stamps: stampsAfter(stamps, { ...update, paths }) })),
      )
    }
    return abortable((signal) =>
      client.call('compareAttempts', { params: { id }, query, signal }).then(
        (changes) => signal.aborted || show(changes),
        (thrown: unknown) => signal.aborted || setSeen((shown) => ({ ...shown, error: errorText(thrown) })),
      ),
    )
  }, [id, to, from, seq, other])
  return seen
}

type Update = { readonly before: readonly FileChange[]; readonly after: readonly FileChange[] }

/** The files whose content differs from the previous list. */
function changedPaths({ before, after }: Update): string[] {
  const known = new Map(before.map(({ path, blob }) => [path, blob]))
  return after.flatMap(({ path, blob }) => (blob === undefined || known.get(path) !== blob ? [path] : []))
}
