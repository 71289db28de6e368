const key = 'parley:push'

/** The address of the push subscription that this browser has registered at the server; undefined if pushes are off. */
export function pushMark(): string | undefined {
  return localStorage.getItem(key) ?? undefined
}

export function setPushMark(endpoint: string | undefined): void {
  if (endpoint === undefined) localStorage.removeItem(key)
  else localStorage.setItem(key, endpoint)
}
