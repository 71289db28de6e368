import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'

type Props = { open: boolean; className: string; onClick: () => void; children: ReactNode }

/** The line of a row that can be expanded. */
export function RowButton({ open, className, onClick, children }: Props) {
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={onClick}
      className={`flex min-h-7 w-full items-center gap-2 rounded-md px-1.5 text-left text-sm hover:bg-hover/60 pointer-coarse:min-h-11 ${className}`}
    >
      {children}
      <ChevronRight size={14} aria-hidden className={`shrink-0 text-faint ${open ? 'rotate-90' : ''}`} />
    </button>
  )
}
