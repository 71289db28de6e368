import { client } from '../base/client.ts'
import { toast, toastError } from '../parts/toasts.tsx'

const setArchived = (id: string, archived: boolean) =>
  client.call('patchSession', { params: { id }, body: { archived } })

export function unarchive({ id }: { readonly id: string }): void {
  setArchived(id, false).catch(toastError)
}

/** Archives a session and shows a toast, since its row disappears from the list. */
export function archive(session: { readonly id: string; readonly title: string }): void {
  const done = () =>
    toast(`Archived “${session.title || 'Untitled'}”`, {
      action: { label: 'Undo', run: () => unarchive(session) },
    })
  setArchived(session.id, true).then(done, toastError)
}
