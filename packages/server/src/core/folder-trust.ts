import { ParleyError, type TrustedFolder } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { SessionStore } from './session-store.ts'

/** The folders that the person trusts. A decision is stored, covers all folders inside, and can be revoked. */
export type FolderTrust = {
  trusted(): Promise<TrustedFolder[]>
  /** Takes effect at the next start of an agent. An idle agent is closed, so that its next prompt starts it again. */
  trust(folder: string): Promise<TrustedFolder>
  /** Revokes the trust of a folder, which may no longer exist. Takes effect at the same time as `trust`. */
  distrust(folder: string): Promise<void>
}

/** `folder` must be a real path, as sessions store it. */
export type Trusts = (folder: string) => boolean

export async function createFolderTrust(options: {
  store: SessionStore
  clock: Clock
  checkFolder: (folder: string) => Promise<string>
  changed: () => void
}): Promise<FolderTrust & { trusts: Trusts }> {
  const { store, clock, checkFolder, changed } = options
  let list = await store.trustedFolders()
  const without = (folder: string) => list.filter((one) => one.folder !== folder)

  return {
    trusts: (folder) => list.some((one) => isWithin(folder, one.folder)),
    async trusted() {
      return [...list]
    },
    async trust(given) {
      const folder = await checkFolder(given)
      const before = list.find((one) => one.folder === folder)
      if (before) return before
      const trusted = { folder, trustedAt: clock.now() }
      await store.trustFolder(trusted)
      list = [...without(folder), trusted]
      changed()
      return trusted
    },
    async distrust(given) {
      const isListed = list.some(({ folder }) => folder === given)
      const folder = isListed ? given : await checkFolder(given).catch(() => given)
      if (!(await store.distrustFolder(folder))) throw notListed(folder, list)
      list = without(folder)
      changed()
    },
  }
}

/**
 * Whether `folder` is `parent` or a folder inside it. The form of `parent` determines the separator, because
 * on some systems the other separator is an ordinary character.
 */
export function isWithin(folder: string, parent: string): boolean {
  const separator = parent.startsWith('/') ? '/' : '\\'
  return folder === parent || folder.startsWith(parent.endsWith(separator) ? parent : parent + separator)
}

function notListed(folder: string, list: readonly TrustedFolder[]): ParleyError {
  const parent = list.find((one) => isWithin(folder, one.folder))
  if (!parent)
    return new ParleyError(
      'not_found',
      `${folder} is not trusted. List the trusted folders to see which ones are.`,
    )
  const why = `${folder} is trusted because it is inside ${parent.folder}. Revoke the trust of that folder.`
  return new ParleyError('conflict', why, { details: { folder: parent.folder } })
}
