import { ChevronDown } from 'lucide-react'
import type { MouseEvent, ReactNode } from 'react'
import { IconButton } from '../parts/button.tsx'
import type { Turn } from './turn.logic.ts'

type Props = { turn: Turn; onToggle: (key: string, open: boolean) => void; children: ReactNode }

/** The first row of an expanded turn, with the button that collapses the turn once it has ended. */
export function TurnHead({ turn: { key, head, end }, onToggle, children }: Props) {
  const place = head?.type === 'prompt' ? 'absolute top-1 left-0 pointer-coarse:-top-0.5' : 'float-right'
  return (
    <div className="relative">
      {end && (
        <IconButton
          label="Collapse this turn"
          data-turn
          aria-expanded
          onClick={(event) => toggleTurn(event, () => onToggle(key, false))}
          className={`${place} size-6! text-faint! pointer-coarse:size-11!`}
        >
          <ChevronDown size={14} />
        </IconButton>
      )}
      {children}
    </div>
  )
}

/** Collapses or expands a turn. The focus moves to the button that does the opposite. */
export function toggleTurn({ currentTarget }: MouseEvent<HTMLElement>, toggle: () => void): void {
  const row = currentTarget.closest('article')
  toggle()
  requestAnimationFrame(() => row?.querySelector<HTMLElement>('[data-turn]')?.focus({ preventScroll: true }))
}
