import type { Bench, ContractHosts } from '@parley/adapter-kit/testing'
import { createHost, type Host } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import { createWorktrees } from '../workspace/worktrees.ts'

/** The hosts on which the contract suite of adapters runs: `host` of its world. */
export const contractHost: ContractHosts = {
  createHost,
  createStore: createMemoryStore,
  createSessionFolder: (root) => createSessionFolder({ env: process.env, root }),
  createWorktrees: (root) => createWorktrees({ env: process.env, root }),
}

/** The host of a bench, with the methods that the contract suite does not need. */
export function hostOf({ host }: Pick<Bench, 'host'>): Host {
  return host as Host
}
