import type { AgentInfo } from '@parley/protocol'
import { FileText, X } from 'lucide-react'
import { visible } from '../base/format.logic.ts'
import { useStore } from '../base/store.ts'
import { pictureAddress } from '../call/call-text.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { toastError } from '../parts/toasts.tsx'
import { createAttachment, overflow, partOf, refusal } from '../session-data/attachment.logic.ts'
import { draftOf } from '../session-data/prompts.ts'

export type Attachments = ReturnType<typeof useAttachments>

/** The attachments of the next prompt in a session, or of the first prompt of a new session. */
export function useAttachments(sessionId: string, agent: AgentInfo | undefined) {
  const attached = draftOf(sessionId).attachments
  const can = {
    images: agent?.capabilities.images ?? true,
    files: agent?.capabilities.files ?? true,
  }
  return {
    list: useStore(attached),
    async add(files: readonly File[]) {
      for (const file of files) {
        const problem = refusal(file, can)
        if (problem) {
          toastError(new Error(problem))
          continue
        }
        const one = createAttachment(partOf(file, new Uint8Array(await file.arrayBuffer())))
        const tooMuch = overflow(file.name, one.size, attached.get())
        if (tooMuch) toastError(new Error(tooMuch))
        else attached.set((before) => [...before, one])
      }
    },
    remove: (id: number) => attached.set((before) => before.filter((other) => other.id !== id)),
    clear: () => attached.set([]),
  }
}

export function AttachmentChips({ attachments }: { attachments: Attachments }) {
  if (attachments.list.length === 0) return null
  return (
    <ul
      aria-label="Attached"
      className="flex max-h-32 flex-wrap gap-1.5 overflow-auto px-2.5 pt-2.5 max-md:flex-nowrap"
    >
      {attachments.list.map(({ id, part }) => (
        <li
          key={id}
          className="flex shrink-0 items-center gap-1.5 rounded-lg border border-line bg-side p-1 text-xs"
        >
          {part.type === 'image' ? (
            <img src={pictureAddress(part)} alt="" className="size-9 rounded object-cover" />
          ) : (
            <FileText size={15} aria-hidden className="ml-1 text-soft" />
          )}
          <span className="max-w-40 truncate">{visible(('name' in part && part.name) || 'Picture')}</span>
          <IconButton
            label={`Remove ${('name' in part && part.name) || 'picture'}`}
            onClick={() => attachments.remove(id)}
          >
            <X size={13} />
          </IconButton>
        </li>
      ))}
    </ul>
  )
}
