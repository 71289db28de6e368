import { ParleyError, routes } from '@parley/protocol'
import { type App, type AppParts, mount, type RequestContext } from '../mount.ts'

/** The largest size of the marks of one person in one session: about 2,500 files. */
const mostMarks = 400_000

/**
 * Mounts the routes of marks on viewed files. Every caller that may read a session has its own marks there.
 */
export function mountViewed(app: App, parts: AppParts): void {
  const store = () => {
    if (parts.viewed) return parts.viewed
    throw new ParleyError('not_supported', 'This server does not store which files were viewed.')
  }
  const personOf = (context: RequestContext) => context.get('caller').principal.person.id
  mount(app, parts, routes.listViewed, async ({ params, context }) => ({
    files: await store().viewedFiles(params.id, personOf(context)),
  }))
  mount(app, parts, routes.markViewed, async ({ params, body, context, host }) => {
    await host.state(params.id)
    await store().markViewed(params.id, personOf(context), body.files, mostMarks)
  })
}
