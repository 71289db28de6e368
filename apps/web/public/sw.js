// Caches the files of the page, so that stored sessions can be read while the server is unreachable. Requests under /api are
// not handled here. Also shows the notifications that the server pushes.

// The build replaces both values: the list of files, and a hash that changes whenever a file changes.
const files = []
const build = ''

// The path under which the page is served. Other programs on the same host have separate caches.
const base = new URL('.', location.href).pathname
const family = base === '/' ? 'parley-page-' : `parley-page${base}-`
const name = family + build

// Caches all files of a build or none: an incomplete page would be useless offline.
addEventListener('install', (event) => {
  skipWaiting()
  event.waitUntil(caches.open(name).then((cache) => cache.addAll(['.', 'first.js', ...files])))
})

// Keeps the previous build too: a tab that was opened before an update still loads files of that build.
addEventListener('activate', (event) => {
  event.waitUntil(forgetOld().then(() => clients.claim()))
})

async function forgetOld() {
  const others = (await caches.keys()).filter((other) => other !== name && other.startsWith(family))
  await Promise.all(others.slice(0, -1).map((other) => caches.delete(other)))
}

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (pathname.startsWith(`${base}api/`)) return
  if (request.mode === 'navigate') event.respondWith(page(request))
  else if (pathname.startsWith(`${base}assets/`)) event.respondWith(asset(request))
  else if (pathname === `${base}first.js`) event.respondWith(first(event))
  else event.respondWith(other(request))
})

/** Returns the server's page, or the page of this build from the cache if the server does not answer. */
async function page(request) {
  try {
    return await fetch(request)
  } catch (error) {
    const kept = await (await caches.open(name)).match('.')
    if (kept) return kept
    throw error
  }
}

/** The name of an asset contains the hash of its content. A query string only marks a retry, so it is ignored. */
async function asset(request) {
  const kept = await caches.match(request, { ignoreSearch: true })
  if (kept) return kept
  const response = await fetch(request)
  if (response.ok) await keep(request, response.clone())
  return response
}

/** Ignores a failure to cache, such as a full disk: the response is returned anyway. */
async function keep(request, response) {
  await (await caches.open(name)).put(request, response).catch(() => {})
}

/** `first.js` blocks rendering, so the cached copy is used and then updated in the background. */
async function first(event) {
  const kept = await (await caches.open(name)).match(event.request)
  const fresh = other(event.request)
  if (!kept) return fresh
  event.waitUntil(fresh.catch(() => {}))
  return kept
}

async function other(request) {
  try {
    const response = await fetch(request)
    if (response.ok) await keep(request, response.clone())
    return response
  } catch (error) {
    const kept = await caches.match(request)
    if (kept) return kept
    throw error
  }
}

// The server sends the format of Declarative Web Push, which Safari shows without this worker.
addEventListener('push', (event) => {
  const { title, navigate, ...options } = event.data.json().notification
  const shown = { icon: 'icon-192.png', ...options, data: { navigate } }
  event.waitUntil(registration.showNotification(title, shown))
})

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(openPage(event.notification.data.navigate))
})

/**
 * Opens a page of the console. Replaces the origin of the link by the origin of this browser's pages, and
 * adds its path.
 */
async function openPage(address) {
  const given = new URL(address)
  const { origin, pathname } = new URL(registration.scope)
  const path = given.pathname.startsWith(pathname) ? given.pathname : pathname + given.pathname.slice(1)
  const url = origin + path + given.hash
  const pages = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  const page = pages.find((one) => one.url === url) ?? pages[0]
  if (!page) return clients.openWindow(url)
  await page.focus().catch(() => {})
  if (page.url !== url) await page.navigate(url)
}
