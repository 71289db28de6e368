import { useSessions } from '@parley/client/react'
import { Folder } from 'lucide-react'
import { useId } from 'react'

/** The folder to work in: typed, or one that was worked in before. */
export function FolderField({ value, onChange }: { value: string; onChange: (folder: string) => void }) {
  const { sessions } = useSessions({ archived: 'all' })
  const recents = [...new Set(sessions.map((session) => session.cwd))].slice(0, 20)
  const id = useId()
  return (
    <label className="flex h-8 min-w-0 flex-1 basis-56 items-center gap-1.5 rounded-md px-1.5 text-soft focus-within:bg-hover hover:bg-hover pointer-coarse:h-11 max-md:basis-full">
      <Folder size={14} aria-hidden className="shrink-0" />
      <input
        aria-label="Folder"
        list={id}
        value={value}
        placeholder="~"
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
        className="min-w-0 flex-1 bg-transparent font-mono text-xs text-ink outline-none"
      />
      <datalist id={id}>
        {recents.map((folder) => (
          <option key={folder} value={folder} />
        ))}
      </datalist>
    </label>
  )
}
