import { ParleyError, type TrustedFolder } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { SessionStore } from './session-store.ts'
import type { SharedSettings } from './shared-settings.ts'
import { type SettingsCopy, StoredList } from './stored-list.ts'

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
  shared?: SharedSettings | undefined
}): Promise<SettingsCopy & { trusts: Trusts; methods: FolderTrust }> {
  const { store, clock, checkFolder, changed, shared } = options
  const list = await StoredList.load(() => store.trustedFolders())
  const without = (folder: string) => list.items.filter((one) => one.folder !== folder)

  const methods: FolderTrust = {
    trusted: async () => [...list.items],
    async trust(given) {
      const folder = await checkFolder(given)
      const before = list.items.find((one) => one.folder === folder)
      const trusted = before ?? { folder, trustedAt: clock.now() }
      if (!before) {
        await store.trustFolder(trusted)
        list.items = [...without(folder), trusted]
        changed()
      }
      await shared?.changed()
      return trusted
    },
    async distrust(given) {
      const isListed = list.items.some(({ folder }) => folder === given)
      const folder = isListed ? given : await checkFolder(given).catch(() => given)
      const isRemoved = await store.distrustFolder(folder)
      list.items = without(folder)
      if (isRemoved) changed()
      await shared?.changed()
      if (!isRemoved) throw notListed(folder, list.items)
    },
  }
  return {
    methods,
    trusts: (folder) => list.items.some((one) => isWithin(folder, one.folder)),
    reload: () => list.reload(),
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
