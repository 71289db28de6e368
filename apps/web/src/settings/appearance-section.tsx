import { signOut } from '../cache/sign-out.ts'
import { NotificationPermission } from '../page/notification-permission.tsx'
import { type Preferences, prefer, preferences, type Theme } from '../page/preferences.ts'
import { useStore } from '../page/store.ts'
import { toastError } from '../page/toasts.tsx'
import { Button } from '../parts/button.tsx'

const themes: { value: Theme; label: string }[] = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function AppearanceSection() {
  const state = useStore(preferences)
  return (
    <section aria-label="This browser" className="flex flex-col gap-6 text-sm">
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
                onChange={() => prefer({ theme: value })}
                className="accent-mark-fill"
              />
              {label}
            </label>
          ))}
        </div>
      </fieldset>
      <Switch
        name="expandAll"
        state={state}
        label="Show every step unfolded"
        note="Otherwise quiet steps and thoughts are one line until you open them; failures open themselves."
      />
      <Notifications state={state} />
      <SignOut />
    </section>
  )
}

function Switch({
  name,
  state,
  label,
  note,
}: {
  name: 'expandAll' | 'notifications'
  state: Preferences
  label: string
  note: string
}) {
  return (
    <label className="flex items-start gap-2.5">
      <input
        type="checkbox"
        checked={state[name]}
        onChange={(event) => prefer({ [name]: event.target.checked })}
        className="mt-1 accent-mark-fill"
      />
      <span>
        <span className="font-semibold">{label}</span>
        <span className="block text-soft">{note}</span>
      </span>
    </label>
  )
}

function Notifications({ state }: { state: Preferences }) {
  return (
    <div className="flex flex-col items-start gap-2">
      <Switch
        name="notifications"
        state={state}
        label="Call me"
        note="Once, when something waits for you, is done or has failed, and you are not looking."
      />
      {state.notifications && <NotificationPermission refused />}
    </div>
  )
}

function SignOut() {
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="text-soft">Signing out also clears what this browser kept of your sessions.</p>
      <Button look="danger" onClick={() => void signOut().catch(toastError)}>
        Sign this browser out
      </Button>
    </div>
  )
}
