import { type Check, ok, warn } from './checks.ts'
import type { Connected } from './connect.ts'
import type { Context } from './context.ts'
import { sizeText } from './durations.ts'
import { oneLine } from './terminal/visible.ts'

const shown = 3

/** The space that worktrees take, and the worktrees whose session was deleted. Empty if there are none. */
export async function worktreeChecks(server: Connected | undefined, context: Context): Promise<Check[]> {
  const name = 'worktrees'
  const found = await server?.client.call('listWorktrees').catch(() => undefined)
  if (!found || found.worktrees.length === 0) return []
  const bytes = found.worktrees.reduce((sum, one) => sum + (one.bytes ?? 0), 0)
  const text = `${found.worktrees.length}, ${sizeText(bytes)}`
  const orphans = found.worktrees.filter(({ session }) => !session)
  if (orphans.length === 0) return [ok(name, text)]
  const names = orphans.slice(0, shown).map((one) => oneLine(one.name))
  const more = orphans.length > shown ? ' and more' : ''
  const how = context.commandLine('worktrees')
  return [warn(name, `${text}. Their sessions were deleted: ${names.join(', ')}${more}. See: ${how}`)]
}
