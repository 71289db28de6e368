import { CircleAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

type Props = { level: 'warning' | 'error'; text: string; children?: ReactNode }

/** An error or warning, with the possible actions below it. */
export function Callout({ level, text, children }: Props) {
  const Icon = level === 'error' ? CircleAlert : TriangleAlert
  return (
    <div
      className={`my-1 flex items-start gap-2 rounded-md px-2.5 py-1.5 text-sm ${level === 'error' ? 'bg-bad-wash text-bad' : 'bg-wait-wash text-wait'}`}
    >
      <Icon size={15} aria-hidden className="mt-0.5 shrink-0" />
      <div className="min-w-0">
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text.slice(0, 4000)}</p>
        {children}
      </div>
    </div>
  )
}
