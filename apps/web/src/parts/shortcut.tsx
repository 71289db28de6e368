import { type Action, keysIn } from '../base/shortcuts.logic.ts'
import { useShortcut } from '../base/shortcuts.ts'
import { Key } from './button.tsx'

type Props = { action: Action; className?: string; always?: boolean }

/** The shortcut of an action, as the person has set it. Nothing if the action has none. */
export function Shortcut({ action, className = '', always = false }: Props) {
  const shortcut = useShortcut(action)
  return shortcut === undefined ? null : (
    <span className={`flex shrink-0 gap-1 ${className}`}>
      {keysIn(shortcut).map((key) => (
        <Key key={key} always={always}>
          {key}
        </Key>
      ))}
    </span>
  )
}
