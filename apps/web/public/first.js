// Runs before everything else. It is a separate file because the content security policy forbids inline scripts.

// Applies the chosen theme before the first paint.
try {
  const theme = JSON.parse(localStorage.getItem('parley:preferences') ?? '{}').theme
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}

// The content security policy forbids code from strings, so zod must not try to compile checks.
globalThis.__zod_globalConfig = { jitless: true }
