import type { AgentCommand } from '@parley/protocol'

/** A command at the start of the text, or a file after an @. A choice replaces the text from `from` to `to`. */
export type Completion = {
  readonly kind: 'command' | 'file'
  readonly query: string
  readonly from: number
  readonly to: number
}

export function completionAt(text: string, caret: number): Completion | undefined {
  const before = text.slice(0, caret)
  const command = /^\/([^\s/]*)$/.exec(before)
  if (command) return { kind: 'command', query: command[1] ?? '', from: 0, to: caret }
  const file = /(?:^|[\s([{"'`])@([^\s@]*)$/.exec(before)
  if (!file) return undefined
  const query = file[1] ?? ''
  return { kind: 'file', query, from: caret - query.length - 1, to: caret }
}

export function withChoice(
  text: string,
  completion: Completion,
  choice: string,
): { text: string; caret: number } {
  const sign = completion.kind === 'command' ? '/' : '@'
  // Puts a name with a space in quotes, since it would otherwise end at the space.
  const inserted = `${sign}${/\s/.test(choice) ? `"${choice}"` : choice} `
  const rest = text.slice(completion.to).replace(/^ /, '')
  return { text: text.slice(0, completion.from) + inserted + rest, caret: completion.from + inserted.length }
}

/**
 * The commands that match the query: first those whose name begins with it, then those whose name contains it, and last
 * those whose description contains it.
 */
export function matchingCommands(commands: readonly AgentCommand[], query: string): readonly AgentCommand[] {
  const wanted = query.toLowerCase()
  const rank = ({ name, description }: AgentCommand) => {
    const lower = name.toLowerCase()
    if (lower.startsWith(wanted)) return 0
    if (lower.includes(wanted)) return 1
    return description?.toLowerCase().includes(wanted) ? 2 : 3
  }
  return commands
    .map((command) => ({ command, rank: rank(command) }))
    .filter((entry) => entry.rank < 3)
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ command }) => command)
    .slice(0, 50)
}
