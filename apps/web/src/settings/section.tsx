import type { ReactNode } from 'react'
import { useMay } from '../base/self.ts'
import { NeedsScope } from '../parts/needs-scope.tsx'

type Props = {
  title: string
  purpose: string
  /** Shown at the right of the heading. */
  beside?: ReactNode
  /** The work that needs the scope `admin`, such as "Adding a rule". People without that scope see a note. */
  adminWork?: string
  /** The reason why the section cannot be shown. */
  problem?: string | undefined
  children: ReactNode
}

/** A section of the settings, with a heading and a sentence on its purpose. */
export function Section({ title, purpose, beside, adminWork, problem, children }: Props) {
  const administers = useMay('admin')
  return (
    <section aria-label={title} className="pb-8">
      <div className="flex items-start gap-3 pb-4">
        <div className="min-w-0 flex-1">
          <h2 className="text-base font-semibold">{title}</h2>
          <p className="text-sm text-pretty text-soft [overflow-wrap:anywhere]">{purpose}</p>
          {adminWork !== undefined && !administers && (
            <NeedsScope what={adminWork} scope="admin" className="pt-1.5" />
          )}
        </div>
        {beside}
      </div>
      {problem === undefined ? children : <p className="text-sm text-pretty text-soft">{problem}</p>}
    </section>
  )
}
