import { type KeyboardEvent, useState } from 'react'
import { claimFocus } from '../base/focus.ts'
import { navigate, useRoute } from '../base/route.ts'
import { pressedAction } from '../base/shortcuts.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { FileTree } from './file-tree.tsx'
import { type FileRoute, FileView } from './file-view.tsx'
import { NameFilter } from './name-filter.tsx'
import { treeOf } from './session-tree.ts'

/**
 * The file tree of the session's folder, and the file of the address. Both are side by side if there is room.
 */
export default function FilesPanel() {
  const id = useSessionId()
  const route = useRoute()
  const [finding, setFinding] = useState(false)
  const shown = route.name === 'session' && route.file !== undefined ? (route as FileRoute) : undefined
  const open = (file: string) => {
    claimFocus('files')
    navigate({ name: 'session', id, file })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!shown || pressedAction(event.nativeEvent) !== 'find') return
    event.preventDefault()
    setFinding(true)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles keys of the elements inside
    <div className="@container/files flex h-full min-h-0" onKeyDown={onKeyDown}>
      <div
        className={`flex min-h-0 flex-col ${shown ? 'w-60 shrink-0 border-r border-line @max-[40rem]/files:hidden' : 'min-w-0 flex-1'}`}
      >
        <NameFilter onOpen={open} onRefresh={() => treeOf(id).refresh()}>
          <FileTree shown={shown?.file} onOpen={open} />
        </NameFilter>
      </div>
      {shown && <FileView route={shown} finding={finding} onFind={setFinding} />}
    </div>
  )
}
