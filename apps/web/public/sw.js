// Keeps the page itself, all parts of it, so that what this browser kept of sessions can be read while the server is
// away. It never answers for the server: whatever is under /api goes through untouched.

// Both are filled in by the build: what the page is made of, and a name that changes with any of it.
const files = []
const name = 'parley-page'

// All of a build or nothing: a page whose parts are not all there would only seem to be kept.
addEventListener('install', (event) => {
  skipWaiting()
  event.waitUntil(caches.open(name).then((cache) => cache.addAll(['/', '/first.js', ...files])))
})

// The build before stays as well: a tab that was open when the server was replaced still asks for parts of it.
addEventListener('activate', (event) => {
  event.waitUntil(forgetOld().then(() => clients.claim()))
})

async function forgetOld() {
  const others = (await caches.keys()).filter((other) => other !== name)
  await Promise.all(others.slice(0, -1).map((other) => caches.delete(other)))
}

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (pathname.startsWith('/api/')) return
  if (request.mode === 'navigate') event.respondWith(page(request))
  else if (pathname.startsWith('/assets/')) event.respondWith(asset(request))
  else if (pathname === '/first.js') event.respondWith(first(event))
  else event.respondWith(other(request))
})

/** The server's page if it answers, else the one that is kept. Another build brings a worker of its own. */
async function page(request) {
  try {
    return await fetch(request)
  } catch (error) {
    const kept = await (await caches.open(name)).match('/')
    if (kept) return kept
    throw error
  }
}

/** The name of an asset holds the hash of what is in it. What follows it only says that it is asked for once more. */
async function asset(request) {
  const kept = await caches.match(request, { ignoreSearch: true })
  if (kept) return kept
  const response = await fetch(request)
  if (response.ok) await keep(request, response.clone())
  return response
}

/** A full disk is no reason not to show what came. */
async function keep(request, response) {
  await (await caches.open(name)).put(request, response).catch(() => {})
}

/** The first script holds everything else up: the kept one runs, a newer one the next time. */
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
