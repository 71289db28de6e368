/** The content of the page. Every route has an address, so that links and the browser's history work. */
export type Route =
  | { readonly name: 'home' }
  | { readonly name: 'new' }
  | { readonly name: 'inbox' }
  | { readonly name: 'import' }
  /** Without a section: a list of the sections on a narrow screen, otherwise the first section. */
  | { readonly name: 'settings'; readonly section?: SettingsSection }
  /** An unknown address. */
  | { readonly name: 'nowhere' }
  /** `seq`: the block that the link points to, by the `seq` of its first event. */
  | { readonly name: 'session'; readonly id: string; readonly seq?: number }

/** The settings sections in the order of their tabs, with their names. */
export const sectionNames = {
  agents: 'Agents',
  permissions: 'Rules and trust',
  appearance: 'Appearance',
  keys: 'Keyboard',
  browser: 'Browsers',
  notifications: 'Notifications',
  tokens: 'Tokens',
  people: 'People',
  nodes: 'Nodes',
}
export type SettingsSection = keyof typeof sectionNames
export const settingsSections = Object.keys(sectionNames) as SettingsSection[]

export function routeOf({ pathname, hash }: { pathname: string; hash: string }): Route {
  const [first, second] = pathname.split('/').filter((part) => part !== '')
  if (first === 'sessions' && second !== undefined) {
    const seq = /^#e(\d{1,15})$/.exec(hash)?.[1]
    return { name: 'session', id: decoded(second), ...(seq !== undefined && { seq: Number(seq) }) }
  }
  if (first === 'new') return { name: 'new' }
  if (first === 'inbox') return { name: 'inbox' }
  if (first === 'import') return { name: 'import' }
  if (first === 'settings') {
    if (second === undefined) return { name: 'settings' }
    const section = settingsSections.find((one) => one === second)
    return section ? { name: 'settings', section } : { name: 'nowhere' }
  }
  return { name: first === undefined ? 'home' : 'nowhere' }
}

/** The address of a route, relative to the base of the page. */
export function addressOf(route: Route): string {
  switch (route.name) {
    case 'home':
      return '.'
    case 'settings':
      return route.section === undefined ? 'settings' : `settings/${route.section}`
    case 'session':
      return `sessions/${encodeURIComponent(route.id)}${route.seq === undefined ? '' : `#e${route.seq}`}`
    default:
      return route.name
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
