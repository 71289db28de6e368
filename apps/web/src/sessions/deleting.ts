import { forgetDraft } from '../composer/draft.ts'
import { client } from '../page/client.ts'
import { currentRoute, go } from '../page/route.ts'
import { createStore, useStore } from '../page/store.ts'
import { toast, toastError } from '../page/toasts.tsx'

const undoMs = 7000

/** Sessions that are hidden and will be deleted when the time to undo is over. A closed page deletes nothing. */
const deleting = createStore<ReadonlySet<string>>(new Set())

export const useDeleting = () => useStore(deleting)

export function deleteWithUndo(session: { readonly id: string; readonly title: string }): void {
  const { id } = session
  const here = currentRoute()
  const wasHere = here.name === 'session' && here.id === id
  if (wasHere) go({ name: 'home' })
  deleting.set((before) => new Set([...before, id]))
  const show = () => deleting.set((before) => new Set([...before].filter((other) => other !== id)))
  const timer = setTimeout(() => {
    client.call('deleteSession', { params: { id } }).then(
      () => forgetDraft(id),
      (thrown: unknown) => {
        show()
        toastError(thrown)
      },
    )
  }, undoMs)
  const undo = () => {
    clearTimeout(timer)
    show()
    if (wasHere && currentRoute().name === 'home') go(here)
  }
  toast(`Deleted “${session.title || 'Untitled'}”`, {
    action: { label: 'Undo', run: undo },
    ms: undoMs - 200,
  })
}
