import type { FileContent } from '@parley/protocol'
import { ClipboardCopy, Copy, Link2, SquareArrowOutUpRight } from 'lucide-react'
import { editorAddress, editorName, editors, type KnownEditor } from '../base/editor.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { hrefOf, navigate } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { copyText } from '../parts/copy-button.tsx'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList, { type MenuEntry } from '../parts/menu-list.tsx'
import { toast } from '../parts/toasts.tsx'

type Props = OpenMenu & {
  route: SessionRoute & { readonly file: string }
  file: FileContent | undefined
}

/** Copies the path, the text or the link of the shown file, and opens it in an editor. */
export default function FileMenu({ route, file, ...menu }: Props) {
  const chosen = useStore(preferences, (state) => state.editor)
  const copy = (text: string, what: string) => () => void copyText(text, () => toast(`Copied ${what}.`))
  const path = file?.path ?? route.file
  const { absolutePath } = file ?? {}
  const entries: (MenuEntry | false | undefined)[] = [
    { label: 'Copy path', icon: ClipboardCopy, onSelect: copy(path, 'the path') },
    absolutePath !== undefined && {
      label: 'Copy full path',
      icon: ClipboardCopy,
      onSelect: copy(absolutePath, 'the full path'),
    },
    {
      label: route.line === undefined ? 'Copy link' : `Copy link to line ${route.line}`,
      icon: Link2,
      onSelect: copy(hrefOf(route), 'the link'),
    },
    file?.type === 'text' && { label: 'Copy text', icon: Copy, onSelect: copy(file.text, 'the text') },
    absolutePath !== undefined && {
      label: chosen === undefined ? 'Open in an editor' : 'Open in another editor',
      icon: SquareArrowOutUpRight,
      entries: [
        ...Object.keys(editors).map((editor) => ({
          label: editorName(editor),
          icon: SquareArrowOutUpRight,
          onSelect: () => openIn(editor as KnownEditor, absolutePath, route.line),
        })),
        {
          label: 'Another one…',
          onSelect: () => navigate({ name: 'settings', section: 'appearance' }),
        },
      ],
    },
  ]
  return <MenuList {...menu} entries={entries.filter((entry) => entry !== false && entry !== undefined)} />
}

/** Opens the file, and stores the editor as the default. */
function openIn(editor: KnownEditor, path: string, line: number | undefined): void {
  setPreferences({ editor })
  const address = editorAddress(editor, path, line)
  if (address === undefined) return
  const link = document.createElement('a')
  link.href = address
  link.click()
}
