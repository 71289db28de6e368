// Keeps the page itself, so that what this browser kept of sessions can be read while the server is away.
// It never answers for the server: whatever is under /api goes through untouched.
const name = 'parley-page-1'

// The page that registered this came before it; it is fetched once more, to be kept with what it needs first.
addEventListener('install', (event) => {
  skipWaiting()
  event.waitUntil(keepFirst().catch(() => {}))
})

async function keepFirst() {
  const response = await fetch('/')
  if (!response.ok) return
  const text = await response.clone().text()
  const cache = await caches.open(name)
  await cache.put('/', response)
  await cache.addAll(['/first.js', ...new Set(text.match(/\/assets\/[\w.-]+/g))])
}

addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(names.filter((other) => other !== name).map((other) => caches.delete(other))),
      )
      .then(() => clients.claim()),
  )
})

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (pathname.startsWith('/api/') || pathname.startsWith('/open/')) return
  if (request.mode === 'navigate') event.respondWith(page(request))
  else if (pathname.startsWith('/assets/')) event.respondWith(asset(request))
  else if (pathname === '/first.js') event.respondWith(first(event))
  else event.respondWith(other(request))
})

/** The server's page if it answers, else the one it gave last. */
async function page(request) {
  try {
    const response = await fetch(request)
    if (response.ok) await keepPage(response.clone())
    return response
  } catch (error) {
    const kept = await caches.match('/')
    if (kept) return kept
    throw error
  }
}

/** A page of another build has other assets: the old ones go. */
async function keepPage(response) {
  const cache = await caches.open(name)
  const before = await cache.match('/')
  const [text, known] = await Promise.all([response.clone().text(), before ? before.text() : undefined])
  if (text === known) return
  if (known !== undefined) for (const request of await cache.keys()) await cache.delete(request)
  await cache.put('/', response)
}

/** The name of an asset holds the hash of what is in it. */
async function asset(request) {
  const kept = await caches.match(request)
  if (kept) return kept
  const response = await fetch(request)
  if (response.ok) await (await caches.open(name)).put(request, response.clone())
  return response
}

/** The first script holds everything else up: the kept one runs, a newer one the next time. */
async function first(event) {
  const kept = await caches.match(event.request)
  const fresh = other(event.request)
  if (!kept) return fresh
  event.waitUntil(fresh.catch(() => {}))
  return kept
}

async function other(request) {
  try {
    const response = await fetch(request)
    if (response.ok) await (await caches.open(name)).put(request, response.clone())
    return response
  } catch (error) {
    const kept = await caches.match(request)
    if (kept) return kept
    throw error
  }
}
