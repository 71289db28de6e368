import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import { NotificationPermission } from '../parts/notification-permission.tsx'
import { toastError } from '../parts/toasts.tsx'
import { signOut } from '../session-data/sign-out.ts'
import { Section } from './section.tsx'
import { Switch } from './switch.tsx'

export function BrowserSection() {
  const state = useStore(preferences)
  return (
    <Section title="This browser" purpose="Notifications, saved copies of sessions, and signing out.">
      <div className="flex flex-col gap-6 text-sm">
        <div className="flex flex-col items-start gap-2">
          <Switch
            name="notifications"
            state={state}
            label="Notify me"
            note="Once, when a session needs your answer, finishes or fails while you are not looking at this page."
          />
          {state.notifications && <NotificationPermission refused />}
        </div>
        <div>
          <h3 className="font-semibold">Saved copies</h3>
          <p className="text-pretty text-soft">
            The latest part of each session you opened, open requests, and unsent drafts. They are shown at
            once, and can be read offline.
          </p>
        </div>
        <div className="flex flex-col items-start gap-2">
          <div>
            <h3 className="font-semibold">Signing out</h3>
            <p className="text-pretty text-soft">
              Also deletes the saved copies. Your sessions stay on the server; a new link signs you in again.
            </p>
          </div>
          <Button look="danger" onClick={() => void signOut().catch(toastError)}>
            Sign this browser out
          </Button>
        </div>
      </div>
    </Section>
  )
}
