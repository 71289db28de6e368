import { type Preferences, setPreferences } from '../base/preferences.ts'

type Props = { name: 'expandAll' | 'notifications'; state: Preferences; label: string; note: string }

/** A switch for a preference, with a note on its effect. */
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
