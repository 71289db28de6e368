import { amount } from '../../base/format.logic.ts'

/** The numbers of added and removed lines. `isShort`: large numbers are rounded. */
type Props = { added: number; removed: number; isShort?: boolean }

export function DiffCount({ added, removed, isShort = false }: Props) {
  const text = (count: number) => (isShort ? amount(count) : count)
  return (
    <span className="shrink-0 text-xs tabular-nums">
      {added > 0 && <span className="text-good">+{text(added)}</span>}
      {added > 0 && removed > 0 && ' '}
      {removed > 0 && <span className="text-bad">−{text(removed)}</span>}
    </span>
  )
}
