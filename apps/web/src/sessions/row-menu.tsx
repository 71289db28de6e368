import type { SessionSummary } from '@parley/protocol'
import { Pencil } from 'lucide-react'
import { may } from '../base/self.ts'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList from '../parts/menu-list.tsx'
import { exportEntry, lifecycleEntries } from './session-entries.tsx'

type Props = OpenMenu & { session: SessionSummary; onRename: () => void }

export default function RowMenu({ session, onRename, ...menu }: Props) {
  const { change, remove } = lifecycleEntries(session)
  const rename = { label: 'Rename', icon: Pencil, onSelect: onRename }
  return (
    <MenuList
      {...menu}
      entries={[...(may('prompt') ? [rename] : []), ...change, ...remove, exportEntry(session.id)]}
    />
  )
}
