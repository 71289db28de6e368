import type { FileChange } from '@parley/protocol'
import { useEffect } from 'react'
import { cached } from '../base/cached.ts'
import { client } from '../base/client.ts'
import { abortable, useWindowEvent } from '../base/effects.ts'
import { createStore, useStore } from '../base/store.ts'
import { toast, toastError } from '../parts/toasts.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import type { ViewedMarks } from './viewed.logic.ts'

const marksOf = cached((_sessionId: string) => createStore<ViewedMarks>(new Map()))

/** Marks that are not sent yet. They are sent together, because a person may mark many files in a short time. */
type Unsent = Map<string, { readonly blob: string | null; readonly before: string | undefined }>
const unsentOf = cached((_sessionId: string): Unsent => new Map())
const sendAfterMs = 200
/** The maximum number of marks in one request. */
const maxSent = 500

/** The marks of the open session. They are read when the panel opens and when the window gets the focus. */
export function useViewedMarks(): ViewedMarks {
  const id = useSessionId()
  const store = marksOf(id)
  const read = (signal?: AbortSignal) =>
    client.call('listViewed', { params: { id }, ...(signal && { signal }) }).then(
      ({ files }) => {
        const unsent = unsentOf(id)
        const stored = files.filter(({ path }) => !unsent.has(path))
        const kept = [...store.get()].filter(([path]) => unsent.has(path))
        store.set(new Map([...stored.map(({ path, blob }) => [path, blob] as const), ...kept]))
      },
      () => {},
    )
  // biome-ignore lint/correctness/useExhaustiveDependencies: `read` depends on the session only
  useEffect(() => abortable(read), [id])
  useWindowEvent('focus', () => void read())
  return useStore(store)
}

export const viewedMarks = (sessionId: string) => marksOf(sessionId).get()

export function markViewed(sessionId: string, { path, blob }: FileChange, viewed: boolean): void {
  if (blob === undefined) return void toast('This file is too large to be marked as viewed.')
  const store = marksOf(sessionId)
  const unsent = unsentOf(sessionId)
  const before = unsent.has(path) ? unsent.get(path)?.before : store.get().get(path)
  if (unsent.size === 0) setTimeout(() => void send(sessionId), sendAfterMs)
  unsent.set(path, { blob: viewed ? blob : null, before })
  store.set((marks) => withMark(marks, path, viewed ? blob : undefined))
}

async function send(id: string): Promise<void> {
  const unsent = unsentOf(id)
  const sent = [...unsent].slice(0, maxSent)
  if (sent.length === 0) return
  for (const [path] of sent) unsent.delete(path)
  try {
    const files = sent.map(([path, { blob }]) => ({ path, blob }))
    await client.call('markViewed', { params: { id }, body: { files } })
    await send(id)
  } catch (thrown) {
    for (const [path, { before }] of sent) marksOf(id).set((marks) => withMark(marks, path, before))
    toastError(thrown)
  }
}

function withMark(marks: ViewedMarks, path: string, blob: string | undefined): ViewedMarks {
  const next = new Map(marks)
  if (blob === undefined) next.delete(path)
  else next.set(path, blob)
  return next
}
