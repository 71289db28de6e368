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
  | RoundRoute
  | SessionRoute

/** `attempt`: the number of the attempt whose changes are shown. `against`: the attempt with which it is compared. */
export type RoundRoute = {
  readonly name: 'round'
  readonly id: string
  readonly attempt?: number
  readonly against?: number
}

/**
 * `seq`: the event that the link points to. `file`: a path in the session's folder, to be shown beside the conversation,
 * as it is now or as it was in the version `rev`.
 */
export type SessionRoute = {
  readonly name: 'session'
  readonly id: string
  readonly seq?: number
  readonly file?: string
  readonly rev?: string
  readonly line?: number
}

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

type Address = { readonly pathname: string; readonly hash: string; readonly search?: string }

export function routeOf({ pathname, hash, search = '' }: Address): Route {
  const [first, second] = pathname.split('/').filter((part) => part !== '')
  if (first === 'sessions' && second !== undefined) {
    return { name: 'session', id: decoded(second), ...placeIn(search, hash) }
  }
  if (first === 'rounds' && second !== undefined) {
    return { name: 'round', id: decoded(second), ...attemptsIn(search) }
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

function attemptsIn(search: string): Pick<RoundRoute, 'attempt' | 'against'> {
  const query = new URLSearchParams(search)
  const [attempt, against] = [query.get('attempt'), query.get('against')].map(numberOf)
  return {
    ...(attempt !== undefined && { attempt }),
    ...(attempt !== undefined && against !== undefined && { against }),
  }
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^[1-9]$/.test(text) ? Number(text) : undefined
}

function placeIn(search: string, hash: string): Pick<SessionRoute, 'seq' | 'file' | 'rev' | 'line'> {
  const query = new URLSearchParams(search)
  const file = query.get('file') ?? ''
  const rev = query.get('rev') ?? ''
  const number = Number(/^#[eL](\d{1,15})$/.exec(hash)?.[1])
  const isEvent = hash.startsWith('#e')
  return {
    ...(number >= 0 && isEvent && { seq: number }),
    ...(file !== '' && { file }),
    ...(file !== '' && rev !== '' && { rev }),
    ...(number > 0 && !isEvent && file !== '' && { line: number }),
  }
}

/** The address of a route, relative to the base of the page. */
export function addressOf(route: Route): string {
  switch (route.name) {
    case 'home':
      return '.'
    case 'settings':
      return route.section === undefined ? 'settings' : `settings/${route.section}`
    case 'session':
      return `sessions/${encodeURIComponent(route.id)}${placeAddress(route)}`
    case 'round':
      return `rounds/${encodeURIComponent(route.id)}${attemptsAddress(route)}`
    default:
      return route.name
  }
}

function attemptsAddress({ attempt, against }: RoundRoute): string {
  if (attempt === undefined) return ''
  return `?attempt=${attempt}${against === undefined ? '' : `&against=${against}`}`
}

function placeAddress({ seq, file, rev, line }: SessionRoute): string {
  const query =
    file === undefined ? '' : `?${new URLSearchParams({ file, ...(rev !== undefined && { rev }) })}`
  if (seq !== undefined) return `${query}#e${seq}`
  return line === undefined ? query : `${query}#L${line}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
