import { Paperclip } from 'lucide-react'
import { useRef } from 'react'
import { IconButton } from '../parts/button.tsx'

export function AttachButton({ onFiles }: { onFiles: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <IconButton label="Attach pictures or files" onClick={() => input.current?.click()}>
        <Paperclip size={15} />
      </IconButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
    </>
  )
}
