// Runs before everything else. A file of its own: the page allows no inline script.

// A chosen theme must not flash.
try {
  const theme = JSON.parse(localStorage.getItem('parley:preferences') ?? '{}').theme
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}

// The page allows no code made from strings; zod need not try.
globalThis.__zod_globalConfig = { jitless: true }
