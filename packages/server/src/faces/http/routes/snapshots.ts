import { ParleyError, routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountSnapshots(app: App, parts: AppParts): void {
  let isBusy = false
  mount(app, parts, routes.createSnapshot, async ({ body }) => {
    const { snapshot } = parts
    if (!snapshot)
      throw new ParleyError(
        'not_supported',
        'This server has no database of its own. Back up a PostgreSQL database with pg_dump.',
      )
    if (isBusy)
      throw new ParleyError('busy', 'The database is being copied already. Try again when that has ended.')
    isBusy = true
    try {
      return await snapshot(body.name)
    } finally {
      isBusy = false
    }
  })
}
