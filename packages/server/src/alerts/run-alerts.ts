import type { TargetRecord } from '../core/alert-store.ts'
import type { AlertsOptions } from './alerts-options.ts'
import { Dispatcher } from './dispatcher.ts'
import { createSafeRequest } from './safe-request.ts'
import { type KnownTarget, knownTarget } from './target-data.ts'
import { createTargets, type Targets } from './targets.ts'
import { newPushKey, type PushKey, pushKeyOf } from './web-push.ts'

const defaultWaitMs = 10_000
/** Must be longer than the time limit of an attempt. */
const claimMs = 30_000
const lookEveryMs = 5_000

/** Creates the dispatcher and the targets. The caller starts the dispatcher. */
export async function runAlerts(
  options: AlertsOptions,
): Promise<{ readonly dispatcher: Dispatcher; readonly targets: Targets }> {
  const { store, settings = {}, url } = options
  let targets: readonly KnownTarget[] = []
  let pushKey: Promise<PushKey> | undefined
  const keep = (records: readonly TargetRecord[]) => {
    targets = records.map(knownTarget).filter((target) => target !== undefined)
  }
  const refresh = async () => keep(await store.targets())
  store.shared?.onChanged(refresh)
  await refresh()
  const request = createSafeRequest(settings)
  const parts = {
    ...options,
    refresh,
    request,
    targets: () => targets,
    now: Date.now,
    random: Math.random,
    paused: new Map<string, number>(),
    waitMs: settings.waitMs ?? defaultWaitMs,
    claimMs,
    lookEveryMs: store.shared && lookEveryMs,
    contact: () => settings.contact ?? contactOf(url()),
    pushKey: () => {
      pushKey ??= store.pushKey(newPushKey).then(pushKeyOf)
      pushKey.catch(() => {
        pushKey = undefined
      })
      return pushKey
    },
    async gone(target: KnownTarget) {
      if (target.data.kind === 'push') await store.removeTarget(target.id)
      else await store.putTarget({ ...target, data: { ...target.data, disabledAt: Date.now() } })
      await refresh()
    },
  }
  const dispatcher = new Dispatcher({ ...parts, closing: () => request.close() })
  return { dispatcher, targets: createTargets(parts) }
}

/** Push services require a contact of the sender. The address of a console on this machine is of no use to them. */
function contactOf(url: string): string {
  return url.startsWith('https:') ? new URL(url).origin : 'mailto:parley@example.com'
}
