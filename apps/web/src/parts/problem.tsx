import type { ReactNode } from 'react'

/** When there is nothing to show but why. */
export function Problem({ title, text, children }: { title: string; text: string; children?: ReactNode }) {
  return (
    <div className="flex h-full items-center justify-center p-6">
      <div className="max-w-md">
        <h1 className="pb-1 text-lg font-semibold">{title}</h1>
        <p className="text-sm [overflow-wrap:anywhere] whitespace-pre-wrap text-soft">{text}</p>
        {children}
      </div>
    </div>
  )
}
