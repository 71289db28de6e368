import { useEffect, useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { CopyText } from '../parts/copy-button.tsx'

type Props = { label: string; note: string; secret: string; copyLabel: string; onDone: () => void }

/** A secret that the server does not show again, with a button to copy it. Takes the focus when it appears. */
export function ShownOnce({ label, note, secret, copyLabel, onDone }: Props) {
  const place = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: focused again when another secret is shown
  useEffect(() => {
    place.current?.focus()
    place.current?.scrollIntoView({ block: 'nearest' })
  }, [secret])
  return (
    <section
      ref={place}
      aria-label={label}
      tabIndex={-1}
      className="mt-3 flex flex-col gap-2 rounded-lg border border-mark bg-mark-wash p-3.5 text-sm outline-none focus-visible:ring-2 focus-visible:ring-mark-fill/40"
    >
      <p className="font-semibold">{label}</p>
      <code className="rounded-md bg-card px-2.5 py-1.5 font-mono text-xs [overflow-wrap:anywhere] select-all">
        {secret}
      </code>
      <p className="text-pretty text-soft">{note}</p>
      <div className="flex flex-wrap gap-2">
        <CopyText text={secret} label={copyLabel} />
        <Button look="quiet" onClick={onDone}>
          Done
        </Button>
      </div>
    </section>
  )
}
