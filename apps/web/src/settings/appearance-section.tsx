import { preferences, setPreferences, type Theme } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { EditorField } from './editor-field.tsx'
import { Switch } from './form-parts.tsx'
import { Section } from './section.tsx'

const themes: { value: Theme; label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function AppearanceSection() {
  const state = useStore(preferences)
  return (
    <Section title="Appearance" purpose="How the console looks in this browser.">
      <div className="flex flex-col gap-6 text-sm">
        <fieldset>
          <legend className="pb-1.5 font-semibold">Theme</legend>
          <div className="flex flex-wrap gap-2">
            {themes.map(({ value, label }) => (
              <label
                key={value}
                className={`flex min-h-9 items-center gap-2 rounded-md border px-3 pointer-coarse:min-h-11 ${state.theme === value ? 'border-mark bg-mark-wash' : 'border-line bg-card'}`}
              >
                <input
                  type="radio"
                  name="theme"
                  checked={state.theme === value}
                  onChange={() => setPreferences({ theme: value })}
                  className="accent-mark-fill"
                />
                {label}
              </label>
            ))}
          </div>
        </fieldset>
        <EditorField />
        <Switch
          name="expandAll"
          state={state}
          label="Expand every step"
          note="When off, steps and thoughts are collapsed to one line. Failed steps are always expanded."
        />
        <Switch
          name="openChanges"
          state={state}
          label="Open changes automatically"
          note="On a wide screen, the first change of a session opens its changes beside the conversation."
        />
        <Switch
          name="collapseTurns"
          state={state}
          label="Collapse old turns"
          note="All turns except the last two of a session are collapsed to one line when the session is opened."
        />
      </div>
    </Section>
  )
}
