import { workerAddress } from '../page/trusted-address.ts'

/** Lets the browser keep the page, to open it while the server is away. Not before what is shown first is there. */
export function keepPage(): void {
  const register = () => void navigator.serviceWorker?.register(workerAddress('/sw.js')).catch(() => {})
  if (document.readyState === 'complete') register()
  else addEventListener('load', register, { once: true })
}

export async function forgetPage(): Promise<void> {
  const registrations = (await navigator.serviceWorker?.getRegistrations()) ?? []
  await Promise.all(registrations.map((registration) => registration.unregister()))
  if ('caches' in window) await Promise.all((await caches.keys()).map((name) => caches.delete(name)))
}
