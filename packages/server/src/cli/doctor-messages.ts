import { existsSync } from 'node:fs'
import type { AgentInfo, UnrecognisedMessages } from '@parley/protocol'
import { UnrecognisedCount } from '../core/index.ts'
import { type Check, warn } from './checks.ts'
import { type Configuration, databaseFile } from './configuration.ts'
import type { Context } from './context.ts'
import { localTimeText } from './durations.ts'

const days = 7
const shownKinds = 3

/** The messages of the last days that were not understood, by agent, if no server has the database open. */
export async function storedMessages({
  dataDir,
  databaseUrl,
}: Configuration): Promise<ReadonlyMap<string, UnrecognisedCount>> {
  const counts = new Map<string, UnrecognisedCount>()
  const file = databaseFile(dataDir)
  if (databaseUrl !== undefined || !existsSync(file)) return counts
  const { unrecognisedIn } = await import('../stores/sqlite-unrecognised.ts')
  try {
    for (const { agent, event } of unrecognisedIn(file, Date.now() - days * 24 * 60 * 60 * 1000)) {
      const count = counts.get(agent) ?? new UnrecognisedCount()
      counts.set(agent, count)
      count.add(event)
    }
  } catch {
    // The check of the database reports the error.
  }
  return counts
}

/** One check for an agent with messages that were not understood; none for other agents. */
export function messageChecks(
  { id, install, unrecognised }: Pick<AgentInfo, 'id' | 'install' | 'unrecognised'>,
  { commandLine }: Context,
): Check[] {
  if (!unrecognised) return []
  const isUntested = install?.installed !== undefined && install.installed !== install.version
  const tested = isUntested ? commandLine(`agents update ${id}`) : undefined
  return [warn(`messages of ${id}`, notUnderstood(unrecognised, tested))]
}

/** What was not understood, and what to do. `tested` is the command that installs the tested version of the agent. */
export function notUnderstood({ count, since, kinds }: UnrecognisedMessages, tested?: string): string {
  const shown = kinds.slice(0, shownKinds).map((one) => `${one.kind} (${one.count})`)
  const more = kinds.length > shownKinds ? ', and other kinds' : ''
  const messages = count === 1 ? '1 message was' : `${count} messages were`
  const remedy = tested === undefined ? '' : `, or install the tested version of the agent (${tested})`
  return `${messages} not understood since ${localTimeText(since)}: ${shown.join(', ')}${more}. Update Parley${remedy}. If Parley is up to date, report these messages as a bug of Parley`
}
