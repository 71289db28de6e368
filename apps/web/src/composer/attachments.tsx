import { FileText, X } from 'lucide-react'
import { useState } from 'react'
import { toastError } from '../page/toasts.tsx'
import { visible } from '../page/words.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { pictureAddress } from '../timeline/call-words.logic.ts'
import { type Attachment, partOf, refusal } from './attachment.logic.ts'

let nextId = 1

export function useAttachments(can: { images: boolean; files: boolean }) {
  const [list, setList] = useState<readonly Attachment[]>([])
  return {
    list,
    async add(files: readonly File[]) {
      for (const file of files) {
        const problem = refusal(file, can)
        if (problem) {
          toastError(new Error(problem))
          continue
        }
        const part = partOf(file, new Uint8Array(await file.arrayBuffer()))
        setList((before) => [...before, { id: nextId++, part, size: file.size }])
      }
    },
    remove: (id: number) => setList((before) => before.filter((other) => other.id !== id)),
    clear: () => setList([]),
  }
}

export function AttachmentChips({ attachments }: { attachments: ReturnType<typeof useAttachments> }) {
  if (attachments.list.length === 0) return null
  return (
    <ul aria-label="Attached" className="flex flex-wrap gap-1.5 px-2.5 pt-2.5">
      {attachments.list.map(({ id, part }) => (
        <li key={id} className="flex items-center gap-1.5 rounded-lg border border-line bg-side p-1 text-xs">
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
