import { addressOf, type Route, routeOf } from './route.logic.ts'
import { createStore, useStore } from './store.ts'

const route = createStore<Route>(routeOf(location))
const follow = () => route.set(routeOf(location))
addEventListener('popstate', follow)
addEventListener('hashchange', follow)

export function useRoute(): Route {
  return useStore(route)
}

export const currentRoute = route.get

export function navigate(to: Route): void {
  const address = addressOf(to)
  if (address !== location.pathname + location.hash) history.pushState(null, '', address)
  route.set(to)
}
