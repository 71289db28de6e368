import { Command } from 'cmdk'
import type { ReactNode } from 'react'

export const groupLook =
  '[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:tracking-wide [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:uppercase'

type EntryProps = {
  icon: ReactNode
  value: string
  /** The names to match; by default `value`. */
  keywords?: string[]
  onSelect: () => void
  children: ReactNode
}

export function Entry({ icon, value, keywords, onSelect, children }: EntryProps) {
  return (
    <Command.Item
      value={value}
      {...(keywords && { keywords })}
      onSelect={onSelect}
      className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm data-[selected=true]:bg-hover pointer-coarse:min-h-11"
    >
      <span className="flex w-4 shrink-0 justify-center text-soft [&>span]:pt-0">{icon}</span>
      {children}
    </Command.Item>
  )
}
