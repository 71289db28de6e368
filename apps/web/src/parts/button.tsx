import type { ComponentProps, ReactNode } from 'react'
import { keyName } from '../base/key-names.ts'

type Look = 'plain' | 'primary' | 'danger' | 'quiet' | 'good'

const looks: Record<Look, string> = {
  plain: 'border border-edge bg-card text-ink hover:bg-hover',
  primary: 'border border-transparent bg-mark-fill text-white hover:brightness-110',
  good: 'border border-transparent bg-good-fill text-white hover:brightness-110',
  danger: 'border border-edge bg-card text-bad hover:bg-bad-wash',
  quiet: 'border border-transparent text-soft hover:bg-hover hover:text-ink',
}

export function Button({
  look = 'plain',
  className = '',
  ...rest
}: ComponentProps<'button'> & { look?: Look }) {
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md px-2.5 text-sm font-medium whitespace-nowrap select-none disabled:opacity-55 pointer-coarse:min-h-11 ${looks[look]} ${className}`}
    />
  )
}

type IconButtonProps = ComponentProps<'button'> & { label: string }

/** A button that shows only an icon. Its label is for screen readers and the tooltip. */
export function IconButton({ label, className = '', ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink disabled:opacity-50 pointer-coarse:size-11 ${className}`}
    />
  )
}

/** A keyboard shortcut. It is hidden on touch devices unless `always` is set, for pages about shortcuts. */
export function Key({ children, always = false }: { children: ReactNode; always?: boolean }) {
  return (
    <kbd
      className={`rounded border border-current/30 px-1 font-sans text-xs leading-4 opacity-80 ${always ? '' : 'pointer-coarse:hidden'}`}
    >
      {typeof children === 'string' ? keyName(children) : children}
    </kbd>
  )
}
