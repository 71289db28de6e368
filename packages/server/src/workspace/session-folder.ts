import type { ShadowedFolders, ShadowedFoldersOptions } from './shadowed-folders.ts'

/**
 * The folders of sessions, with their snapshots below `root`. The code is loaded on first use, because a server does not
 * need it at its start.
 */
export function createSessionFolder(options: ShadowedFoldersOptions): ShadowedFolders {
  let loading: Promise<ShadowedFolders> | undefined
  const folders = () => {
    loading ??= import('./shadowed-folders.ts').then((loaded) => loaded.createShadowedFolders(options))
    return loading
  }
  return {
    snapshot: async (...given) => (await folders()).snapshot(...given),
    compare: async (...given) => (await folders()).compare(...given),
    count: async (...given) => (await folders()).count(...given),
    plan: async (...given) => (await folders()).plan(...given),
    move: async (...given) => (await folders()).move(...given),
    restore: async (...given) => (await folders()).restore(...given),
    share: async (...given) => (await folders()).share(...given),
    forget: async (...given) => (await folders()).forget(...given),
    write: async (...given) => (await folders()).write(...given),
    now: async (...given) => (await folders()).now(...given),
    stored: async (...given) => (await folders()).stored(...given),
  }
}
