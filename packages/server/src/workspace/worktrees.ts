import type { Worktrees } from '../core/worktrees.ts'
import type { WorktreesOptions } from './worktree-folders.ts'

/** Worktrees in the folder `root`. The code is loaded on first use, because a server does not need it at its start. */
export function createWorktrees(options: WorktreesOptions): Worktrees {
  let loading: Promise<Worktrees> | undefined
  const worktrees = () => {
    loading ??= import('./worktree-folders.ts').then((loaded) => loaded.createWorktreeFolders(options))
    return loading
  }
  return {
    offer: async (...given) => (await worktrees()).offer(...given),
    plan: async (...given) => (await worktrees()).plan(...given),
    make: async (...given) => (await worktrees()).make(...given),
    prepare: async (...given) => (await worktrees()).prepare(...given),
    discard: async (...given) => (await worktrees()).discard(...given),
    isThere: async (...given) => (await worktrees()).isThere(...given),
    emptySubmodules: async (...given) => (await worktrees()).emptySubmodules(...given),
    examine: async (...given) => (await worktrees()).examine(...given),
    remove: async (...given) => (await worktrees()).remove(...given),
    list: async () => (await worktrees()).list(),
    found: async (...given) => (await worktrees()).found(...given),
  }
}
