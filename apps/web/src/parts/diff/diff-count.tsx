export function DiffCount({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="shrink-0 text-xs tabular-nums">
      {added > 0 && <span className="text-good">+{added}</span>}
      {added > 0 && removed > 0 && ' '}
      {removed > 0 && <span className="text-bad">−{removed}</span>}
    </span>
  )
}
