import { workerAddress } from '../page/trusted-address.ts'

/** Lets the browser keep the page, to open it while the server is away. */
export function keepPage(): void {
  navigator.serviceWorker?.register(workerAddress('/sw.js')).catch(() => {})
}

export async function forgetPage(): Promise<void> {
  const registrations = (await navigator.serviceWorker?.getRegistrations()) ?? []
  await Promise.all(registrations.map((registration) => registration.unregister()))
  if ('caches' in window) await Promise.all((await caches.keys()).map((name) => caches.delete(name)))
}
