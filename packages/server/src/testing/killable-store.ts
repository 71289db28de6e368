import type { SessionStore } from '../core/session-store.ts'

const never = new Promise<never>(() => undefined)

/**
 * A store that simulates a killed process: from a chosen write on, no call returns, and that write may or may not be
 * stored. The underlying store survives and can be opened by another host.
 */
export function killableStore(store: SessionStore): {
  store: SessionStore
  killAt(write: number, applied: boolean): void
  /** Resolves when the process is killed. */
  readonly killed: Promise<void>
} {
  let left = Number.POSITIVE_INFINITY
  let applyLast = false
  let dead = false
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>()

  const writing =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (dead) return never
      if (left-- > 0) return work(...args)
      dead = true
      if (applyLast) await work(...args)
      kill()
      return never
    }
  const reading =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      dead ? never : work(...args)

  return {
    killed,
    killAt(write, applied) {
      left = write
      applyLast = applied
    },
    store: {
      create: writing(store.create),
      append: writing(store.append),
      checkpoint: writing(store.checkpoint),
      redact: writing(store.redact),
      delete: writing(store.delete),
      addRule: writing(store.addRule),
      removeRule: writing(store.removeRule),
      trustFolder: writing(store.trustFolder),
      distrustFolder: writing(store.distrustFolder),
      setEnvironment: writing(store.setEnvironment),
      addProjects: writing(store.addProjects),
      setProjectSettings: writing(store.setProjectSettings),
      read: reading(store.read),
      load: reading(store.load),
      receipt: reading(store.receipt),
      checkpoints: reading(store.checkpoints),
      list: reading(store.list),
      sessionsOf: reading(store.sessionsOf),
      unsettled: reading(store.unsettled),
      waiting: reading(store.waiting),
      rules: reading(store.rules),
      trustedFolders: reading(store.trustedFolders),
      environments: reading(store.environments),
      withoutProject: reading(store.withoutProject),
      projectGroups: reading(store.projectGroups),
      projectSettings: reading(store.projectSettings),
      close: async () => undefined,
    },
  }
}
