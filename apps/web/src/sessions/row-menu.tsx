import type { SessionSummary } from '@parley/protocol'
import { Pencil } from 'lucide-react'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList from '../parts/menu-list.tsx'
import { lifecycleEntries } from './session-entries.tsx'

type Props = OpenMenu & { session: SessionSummary; onRename: () => void }

export default function RowMenu({ session, onRename, ...menu }: Props) {
  const { pin, archive, remove } = lifecycleEntries(session)
  const rename = { label: 'Rename', icon: Pencil, onSelect: onRename }
  return <MenuList {...menu} entries={[pin, rename, archive, remove]} />
}
