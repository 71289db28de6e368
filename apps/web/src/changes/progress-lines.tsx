import { visible } from '../base/format.logic.ts'

/** The last lines of output of a running program. A screen reader announces the end of the program, not each line. */
export function ProgressLines({ label, text }: { label: string; text: string }) {
  if (text === '') return null
  return (
    <pre
      aria-label={label}
      role="log"
      aria-live="off"
      className="overflow-hidden rounded bg-sunk p-2 font-mono text-xs whitespace-pre-wrap text-ink"
    >
      {visible(text)}
    </pre>
  )
}
