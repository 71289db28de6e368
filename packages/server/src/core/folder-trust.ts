import { type Actor, defined, ParleyError, type TrustedFolder } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { SessionStore } from './session-store.ts'
import type { SharedSettings } from './shared-settings.ts'
import { type SettingsCopy, StoredList } from './stored-list.ts'

/** The folders that the person trusts. A decision is stored, covers all folders inside, and can be revoked. */
export type FolderTrust = {
  trusted(): Promise<TrustedFolder[]>
  /**
   * Takes effect at the next start of an agent. An idle agent is closed, so that the next prompt starts it again. A
   * folder at another place cannot be checked here, so it must be given as a real path.
   */
  trust(folder: string, place?: string, by?: Actor): Promise<TrustedFolder>
  /**
   * Revokes the trust of a folder, which may no longer exist. Like `trust`, it takes effect at the next start of an
   * agent. Without `place`, the trust is revoked at the place of this process, or else at the only other place that
   * trusts the folder.
   */
  distrust(folder: string, place?: string): Promise<void>
  /** The real path of a folder, with its place. Rejects if there is no such folder at the place of this process. */
  locateFolder(folder: string, place?: string): Promise<FolderAt>
}

/** `folder` must be a real path, as sessions store it. `place` is by default the place of this process. */
export type Trusts = (folder: string, place?: string) => boolean

type FolderParts = {
  readonly checkFolder: (folder: string) => Promise<string>
  /** The place of this process. */
  readonly place: string | undefined
}

export async function createFolderTrust(
  options: FolderParts & {
    store: SessionStore
    clock: Clock
    changed: () => void
    shared?: SharedSettings | undefined
  },
): Promise<SettingsCopy & { trusts: Trusts; methods: FolderTrust }> {
  const { store, clock, changed, shared } = options
  const list = await StoredList.load(() => store.trustedFolders())
  const find = (where: FolderAt) => list.items.find((one) => isSame(one, where))
  const without = (where: FolderAt) => list.items.filter((one) => !isSame(one, where))

  const methods: FolderTrust = {
    trusted: async () => [...list.items],
    locateFolder: (folder, place) => placed(options, folder, place),
    async trust(given, place, by) {
      const where = await placed(options, given, place)
      const before = find(where)
      const trusted = before ?? { ...where, trustedAt: clock.now(), ...defined({ trustedBy: by }) }
      if (!before) {
        await store.trustFolder(trusted)
        list.items = [...without(where), trusted]
        changed()
      }
      await shared?.changed()
      return trusted
    },
    async distrust(given, place) {
      const where = await listedPlace(options, list.items, given, place)
      const isRemoved = await store.distrustFolder(where.folder, where.place)
      list.items = without(where)
      if (isRemoved) changed()
      await shared?.changed()
      if (!isRemoved) throw notListed(where, list.items)
    },
  }
  return {
    methods,
    trusts: (folder, place = options.place) =>
      list.items.some((one) => one.place === place && isWithin(folder, one.folder)),
    reload: () => list.reload(),
  }
}

/** A folder, and its place if several processes share the store. */
export type FolderAt = { readonly folder: string; readonly place?: string | undefined }

function isSame(one: FolderAt, other: FolderAt): boolean {
  return one.folder === other.folder && one.place === other.place
}

/** The folder of a new setting, with its place. Only a folder at the place of this process can be checked. */
export async function placed(
  { checkFolder, place: here }: FolderParts,
  folder: string,
  place = here,
): Promise<FolderAt> {
  if (place === here) return { folder: await checkFolder(folder), ...defined({ place }) }
  if (here === undefined) {
    const message = 'A place can be given only if several servers share a database.'
    throw new ParleyError('validation_error', message, { details: { place } })
  }
  if (isAbsolute.test(folder)) return { folder, ...defined({ place }) }
  const message = `Give the absolute path of the folder: it is at ${place}, which this server cannot access.`
  throw new ParleyError('validation_error', message, { details: { folder, place } })
}

const isAbsolute = /^(\/|[A-Za-z]:\\|\\\\)/

/**
 * The folder and the place of a setting to remove. The folder may no longer exist. `place` is by default the place of
 * this process, or else the only other place that has a setting for the folder.
 */
export async function listedPlace(
  { checkFolder, place: here }: FolderParts,
  list: readonly FolderAt[],
  folder: string,
  place?: string,
): Promise<FolderAt> {
  const at = list.filter((one) => one.folder === folder)
  const one = at.find((other) => other.place === (place ?? here)) ?? (at.length === 1 ? at[0] : undefined)
  if (one && (place === undefined || one.place === place)) return { folder, ...defined({ place: one.place }) }
  if (place !== undefined && place !== here) return { folder, place }
  return { folder: await checkFolder(folder).catch(() => folder), ...defined({ place: here }) }
}

/**
 * True if `folder` is `parent` or a folder inside it. The form of `parent` determines the separator, because on some
 * systems the other separator is an ordinary character.
 */
export function isWithin(folder: string, parent: string): boolean {
  const separator = parent.startsWith('/') ? '/' : '\\'
  return folder === parent || folder.startsWith(parent.endsWith(separator) ? parent : parent + separator)
}

function notListed({ folder, place }: FolderAt, list: readonly TrustedFolder[]): ParleyError {
  const parent = list.find((one) => one.place === place && isWithin(folder, one.folder))
  if (!parent)
    return new ParleyError(
      'not_found',
      `${folder} is not trusted. List the trusted folders to see which ones are.`,
    )
  const why = `${folder} is trusted because it is inside ${parent.folder}. Revoke the trust of that folder.`
  return new ParleyError('conflict', why, { details: { folder: parent.folder } })
}
