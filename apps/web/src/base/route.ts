import { addressOf, type Route, routeOf } from './route.logic.ts'
import { createStore, useStore } from './store.ts'

/** The path at which the server is reached, with a slash at the end. The page's base element contains it. */
export const basePath = new URL(document.baseURI).pathname

/** The path of the page below `basePath`, with slashes around it. */
export function placeInside(): string {
  const path = `${location.pathname}/`
  return path.startsWith(basePath) ? path.slice(basePath.length - 1) : path
}

const read = () => routeOf({ pathname: placeInside(), hash: location.hash, search: location.search })
const route = createStore<Route>(read())
const follow = () => route.set(read())
addEventListener('popstate', follow)
addEventListener('hashchange', follow)

export function useRoute(): Route {
  return useStore(route)
}

export const currentRoute = route.get

export function hrefOf(to: Route): string {
  return new URL(addressOf(to), document.baseURI).href
}

export function navigate(to: Route): void {
  const address = hrefOf(to)
  if (address !== location.href)
    history.pushState(isBesideHere(to) ? inPanel(panelDepth() + 1) : null, '', address)
  route.set(to)
}

/** True for a file of the open session: it is shown in a panel beside the conversation. */
function isBesideHere(to: Route): boolean {
  const here = route.get()
  return to.name === 'session' && to.file !== undefined && here.name === 'session' && here.id === to.id
}

/** The number of entries that were added to the browser's history since a panel was opened. */
export function panelDepth(): number {
  const depth: unknown = history.state?.panel
  return typeof depth === 'number' ? depth : 0
}

/** The state of an entry of the browser's history that was added for a panel. */
export const inPanel = (depth: number) => ({ panel: depth })

/** Changes the address without an entry in the browser's history. */
export function replaceRoute(to: Route): void {
  history.replaceState(history.state, '', hrefOf(to))
  route.set(to)
}
