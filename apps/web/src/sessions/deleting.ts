import { ParleyError } from '@parley/protocol'
import { client } from '../base/client.ts'
import { createPersistedStore } from '../base/persisted-store.ts'
import { currentRoute, navigate } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { toast, toastError } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'

const undoMs = 7000
/**
 * The time after the end of the undo time. If the tab in which the session was deleted has not sent the deletion by
 * then, another page sends it.
 */
const graceMs = 1500

/** Sessions that are hidden in every tab, each with the time until which the deletion can be undone. */
const deleting = createPersistedStore<{ readonly until: Readonly<Record<string, number>> }>('deleting', {
  until: {},
})

const isDeleting = (id: string) => Object.hasOwn(deleting.get().until, id)

export function useDeleting(): ReadonlySet<string> {
  return new Set(Object.keys(useStore(deleting).until))
}

export function deleteWithUndo(session: { readonly id: string; readonly title: string }): void {
  const { id } = session
  const here = currentRoute()
  const wasHere = here.name === 'session' && here.id === id
  if (wasHere) navigate({ name: 'home' })
  deleting.set(({ until }) => ({ until: { ...until, [id]: Date.now() + undoMs } }))
  const timer = setTimeout(() => void remove(id), undoMs)
  const undo = () => {
    clearTimeout(timer)
    show(id)
    if (wasHere && currentRoute().name === 'home') navigate(here)
  }
  toast(`Deleted “${session.title || 'Untitled'}”`, {
    action: { label: 'Undo', run: undo },
    ms: undoMs - 200,
    exact: true,
  })
}

/** Completes deletions whose page was closed before their undo time was over. */
export function finishDeletions(): void {
  for (const [id, until] of Object.entries(deleting.get().until))
    setTimeout(() => isDeleting(id) && void remove(id), Math.max(0, until + graceMs - Date.now()))
}

async function remove(id: string): Promise<void> {
  try {
    await client.call('deleteSession', { params: { id } })
  } catch (thrown) {
    if (!(thrown instanceof ParleyError && thrown.code === 'not_found')) {
      show(id)
      return toastError(thrown)
    }
  }
  draftOf(id).clear()
  // Keep the session hidden for the grace time; after that, no list contains it any more.
  setTimeout(() => show(id), graceMs)
}

function show(id: string): void {
  deleting.set(({ until: { [id]: _, ...until } }) => ({ until }))
}
