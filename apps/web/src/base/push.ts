import { client } from './client.ts'
import { pushMark, setPushMark } from './push-mark.ts'

/** The reason why this browser cannot get pushes; undefined if pushes are possible. */
export function pushProblem(): 'insecure' | 'not-installed' | 'unsupported' | undefined {
  if (!isSecureContext) return 'insecure'
  if ('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window) return undefined
  // iOS offers pushes only to pages on the home screen.
  return /iPhone|iPad/.test(navigator.userAgent) ? 'not-installed' : 'unsupported'
}

/** Subscribes this browser. The person must have permitted notifications. */
export async function startPush(): Promise<void> {
  const { pushKey } = await client.call('listTargets')
  const { pushManager } = await navigator.serviceWorker.ready
  // A subscription with another key, such as the key of an earlier server at this address, cannot be used.
  await (await pushManager.getSubscription())?.unsubscribe()
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: pushKey })
  await tellServer(subscription)
}

export async function stopPush(): Promise<void> {
  setPushMark(undefined)
  const registration = await navigator.serviceWorker?.getRegistration()
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

/** Subscribes again if the browser has dropped or replaced the subscription. */
export async function renewPush(): Promise<void> {
  if (!pushMark() || pushProblem() || Notification.permission !== 'granted') return
  const { pushManager } = await navigator.serviceWorker.ready
  const subscription = await pushManager.getSubscription()
  if (!subscription) return startPush()
  if (subscription.endpoint !== pushMark()) await tellServer(subscription)
}

async function tellServer(subscription: PushSubscription): Promise<void> {
  const { endpoint = '', keys = {} } = subscription.toJSON()
  const { p256dh = '', auth = '' } = keys
  await client.call('createTarget', { body: { kind: 'push', endpoint, keys: { p256dh, auth } } })
  setPushMark(endpoint)
}
