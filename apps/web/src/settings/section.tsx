import type { ReactNode } from 'react'

type Props = {
  title: string
  purpose: string
  /** Shown at the right of the heading. */
  beside?: ReactNode
  children: ReactNode
}

/** A section of the settings, with a heading and a sentence on its purpose. */
export function Section({ title, purpose, beside, children }: Props) {
  return (
    <section aria-label={title} className="pb-8">
      <div className="flex items-start gap-3 pb-4">
        <div className="min-w-0 flex-1">
          <h2 className="text-base font-semibold">{title}</h2>
          <p className="text-sm text-pretty text-soft [overflow-wrap:anywhere]">{purpose}</p>
        </div>
        {beside}
      </div>
      {children}
    </section>
  )
}
