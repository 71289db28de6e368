import { X } from 'lucide-react'
import { IconButton } from '../parts/button.tsx'
import { Link } from '../parts/link.tsx'
import { KeyTable, keysPurpose } from './key-table.tsx'

/** The keyboard shortcuts in a dialog, so that the person does not have to leave the page. */
export default function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <div className="flex max-h-[85dvh] flex-col">
      <div className="flex items-start gap-3 px-5 pt-4 pb-3">
        <div className="min-w-0 flex-1">
          <h2 className="text-base font-semibold">Keyboard shortcuts</h2>
          <p className="text-sm text-pretty text-soft">{keysPurpose}</p>
        </div>
        <IconButton label="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </div>
      <div className="min-h-0 overflow-y-auto px-5 pb-5" tabIndex={-1}>
        <KeyTable />
        <p className="pt-5 text-sm">
          <Link
            to={{ name: 'settings', section: 'keys' }}
            onClick={onClose}
            className="text-mark underline pointer-coarse:inline-flex pointer-coarse:min-h-11 pointer-coarse:items-center"
          >
            Change shortcuts
          </Link>
        </p>
      </div>
    </div>
  )
}
