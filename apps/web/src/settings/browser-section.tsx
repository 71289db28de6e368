import type { Device } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords } from '../base/format.logic.ts'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import { NotificationPermission } from '../parts/notification-permission.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { signOut } from '../session-data/sign-out.ts'
import { EntryRow } from './entry-row.tsx'
import { Switch } from './form-parts.tsx'
import { PairButton } from './pair-button.tsx'
import { listPeople, ownerName } from './person-names.ts'
import { expiryText, limitsText, scopesText } from './rights-text.logic.ts'
import { Section } from './section.tsx'
import { useServerList } from './use-server-list.ts'

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
            note="Shows one notification when a session needs your answer, finishes or fails while you are not looking at this page."
          />
          {state.notifications && <NotificationPermission refused />}
        </div>
        <div>
          <h3 className="font-semibold">Saved copies</h3>
          <p className="text-pretty text-soft">
            This browser stores the latest part of each session you opened, open requests, and unsent drafts.
            They are shown at once, and can be read offline.
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

const listDevices = () => client.access.devices()

/** The browsers that are signed in. Each can be signed out here. */
export function DevicesSection() {
  const { list: devices, change, reload } = useServerList(listDevices)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the handler does the same after each render
  useEffect(() => client.socket.onFrame(({ type }) => type === 'device-added' && reload()), [])
  const { list: people } = useServerList(listPeople)
  const now = useNow()
  const revoke = ({ deviceId, name, current }: Device) => {
    if (current) return void signOut().catch(toastError)
    change(async () => {
      await client.access.revokeDevice(deviceId)
      toast(`${name} is signed out.`)
    })
  }
  return (
    <Section
      title="Signed-in browsers"
      purpose="Each browser has its own key. Signing one out closes its pages at once."
      beside={<PairButton />}
    >
      <ul className="flex flex-col gap-2">
        {devices?.map((device) => (
          <EntryRow
            key={device.deviceId}
            label={device.name}
            facts={[
              ownerName(people, device.personId),
              scopesText(device.scopes),
              limitsText(device.limits),
              expiryText(device.expiresAt, now),
              `Signed in ${agoInWords(device.createdAt, now)}`,
              `Last seen ${agoInWords(device.lastSeenAt, now)}`,
            ]}
            actions={
              <Button
                look="danger"
                aria-label={`Sign out ${device.current ? 'this browser' : device.name}`}
                onClick={() => revoke(device)}
              >
                Sign out
              </Button>
            }
          >
            {device.name}
            {device.current && <span className="text-soft"> (this browser)</span>}
          </EntryRow>
        ))}
      </ul>
    </Section>
  )
}
