import { workerAddress } from './trusted-address.ts'

/** Registers the service worker, which lets the page open while the server is down. Waits until the page has loaded. */
export function registerServiceWorker(): void {
  const register = () => void navigator.serviceWorker?.register(workerAddress('sw.js')).catch(() => {})
  if (document.readyState === 'complete') register()
  else addEventListener('load', register, { once: true })
}

export async function removeServiceWorker(): Promise<void> {
  const registrations = (await navigator.serviceWorker?.getRegistrations()) ?? []
  const own = registrations.filter(({ scope }) => scope === document.baseURI)
  await Promise.all(own.map((registration) => registration.unregister()))
  if (!('caches' in window)) return
  const names = (await caches.keys()).filter((name) => name.startsWith('parley-page'))
  await Promise.all(names.map((name) => caches.delete(name)))
}
