import type { ReactNode } from 'react'
import { type Preferences, setPreferences } from '../base/preferences.ts'

export function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children
    <label className="flex min-w-0 flex-col justify-end gap-1">
      <span className="text-xs text-soft">{label}</span>
      {children}
    </label>
  )
}

export type TextOptions = {
  readonly first?: boolean
  /** The field is masked, and the browser does not store its value. */
  readonly secret?: boolean
}
type TextProps = TextOptions & { value: string; placeholder: string; onWrite: (text: string) => void }

export function Text({ value, placeholder, first = false, secret = false, onWrite }: TextProps) {
  return (
    <input
      // biome-ignore lint/a11y/noAutofocus: it appears because the person opened the form
      autoFocus={first}
      type={secret ? 'password' : 'text'}
      value={value}
      placeholder={placeholder}
      spellCheck={false}
      autoCapitalize="off"
      autoComplete={secret ? 'new-password' : 'off'}
      onChange={(event) => onWrite(event.target.value)}
      className="field w-full font-mono pointer-coarse:min-h-11 pointer-coarse:text-base"
    />
  )
}

type SelectProps = {
  /** The accessible name, if no label is visible. */
  label?: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  onChoose: (value: string) => void
}

export function Select({ label, value, options, onChoose }: SelectProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChoose(event.target.value)}
      className="field w-full pointer-coarse:min-h-11"
    >
      {options.map(([one, label]) => (
        <option key={one} value={one}>
          {label}
        </option>
      ))}
    </select>
  )
}

type CheckProps = { label: string; checked: boolean; onChange: (checked: boolean) => void }

export function Check({ label, checked, onChange }: CheckProps) {
  return (
    <label className="flex items-center gap-1.5 text-sm text-soft pointer-coarse:min-h-11">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  )
}

type Props = {
  name: 'expandAll' | 'collapseTurns' | 'notifications' | 'openChanges' | 'singleKeys'
  state: Preferences
  label: string
  note: string
}

export function Switch({ name, state, label, note }: Props) {
  return (
    <label className="flex items-start gap-2.5">
      <input
        type="checkbox"
        checked={state[name]}
        onChange={(event) => setPreferences({ [name]: event.target.checked })}
        className="mt-1 accent-mark-fill"
      />
      <span>
        <span className="font-semibold">{label}</span>
        <span className="block text-soft">{note}</span>
      </span>
    </label>
  )
}
