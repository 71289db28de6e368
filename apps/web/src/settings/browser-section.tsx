import { signOut } from '../cache/sign-out.ts'
import { NotificationPermission } from '../page/notification-permission.tsx'
import { preferences } from '../page/preferences.ts'
import { useStore } from '../page/store.ts'
import { toastError } from '../page/toasts.tsx'
import { Button } from '../parts/button.tsx'
import { Section } from './section.tsx'
import { Switch } from './switch.tsx'

export function BrowserSection() {
  const state = useStore(preferences)
  return (
    <Section
      title="This browser"
      purpose="When it notifies you, what it keeps of your sessions, and how to sign it out."
    >
      <div className="flex flex-col gap-6 text-sm">
        <div className="flex flex-col items-start gap-2">
          <Switch
            name="notifications"
            state={state}
            label="Notify me"
            note="Once, when something waits for you, is done or has failed, and you are not looking."
          />
          {state.notifications && <NotificationPermission refused />}
        </div>
        <div>
          <h3 className="font-semibold">Kept copies</h3>
          <p className="text-pretty text-soft">
            The end of each session that you opened, what waits for you, and what you wrote and have not sent.
            They are shown at once, and can be read while the server is away.
          </p>
        </div>
        <div className="flex flex-col items-start gap-2">
          <div>
            <h3 className="font-semibold">Signing out</h3>
            <p className="text-pretty text-soft">
              Clears the kept copies too. Your sessions stay on the server; a new link signs you in again.
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
