import { BellRing } from 'lucide-react'
import { useState } from 'react'
import { Button } from './button.tsx'

/**
 * A button that asks for the browser's permission to show notifications. If `refused` is set and the browser has
 * denied the permission, a note is shown instead.
 */
export function NotificationPermission({ refused = false }: { refused?: boolean }) {
  const [permission, setPermission] = useState(() =>
    'Notification' in window ? Notification.permission : 'denied',
  )
  if (permission === 'default') {
    return (
      <Button onClick={() => void Notification.requestPermission().then(setPermission)}>
        <BellRing size={14} aria-hidden /> Allow notifications
      </Button>
    )
  }
  if (permission === 'granted' || !refused) return null
  return (
    <p className="text-soft">
      This browser blocks notifications from this page. The tab’s title still shows how many requests are
      open.
    </p>
  )
}
