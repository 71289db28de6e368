import { defined, routes, type SearchKind } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountSearch(app: App, parts: AppParts): void {
  mount(app, parts, routes.search, ({ query, host }) =>
    host.search(defined({ ...query, in: query.in?.split(',') as SearchKind[] | undefined })),
  )
}
