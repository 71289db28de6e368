import { ParleyError } from '@parley/protocol'
import type { Command } from 'commander'
import { bashScript, zshScript } from '../completions/bash-and-zsh.ts'
import { commandTree, shells } from '../completions/command-tree.ts'
import { fishScript } from '../completions/fish.ts'
import type { Flags } from '../configuration.ts'
import { findServer } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { oneLine } from '../terminal/visible.ts'

type CompletionsOptions = Flags & { readonly values?: string }

/** Prints the completion script for a shell or, with --values, the values that such a script requests. */
export async function completions(
  shell: string | undefined,
  options: CompletionsOptions,
  program: Command,
  context: Context,
): Promise<number> {
  if (options.values !== undefined) return await printValues(options.values, options, context)
  const known = shells.find((name) => name === shell)
  if (!known)
    throw new ParleyError(
      'validation_error',
      shell === undefined
        ? `Give a shell: ${shells.join(', ')}.`
        : `completions takes one of ${shells.join(', ')}, not "${shell}".`,
    )
  context.output.out({ bash: bashScript, zsh: zshScript, fish: fishScript }[known](commandTree(program)))
  return 0
}

const mostSessions = 100
/** Other ids are not printed, because a shell could evaluate their characters. */
const plainId = /^[\w.-]+$/

/**
 * Prints the sessions or agents of the running server, each with its title or name after a tab. Without a server,
 * prints nothing: a completion must not start a server.
 */
async function printValues(kind: string, flags: Flags, context: Context): Promise<number> {
  await using server = await findServer(configurationOf(context, flags)).catch(() => undefined)
  if (!server) return 1
  const print = (id: string, about: string) => {
    if (plainId.test(id)) context.output.out(`${id}\t${oneLine(about).replaceAll('\t', ' ')}\n`)
  }
  if (kind === 'agent') {
    for (const { id, name } of (await server.client.call('listAgents')).agents) print(id, name)
    return 0
  }
  print('last', 'the session that changed last')
  const query = { archived: 'all' as const, limit: mostSessions }
  for (const { id, title } of (await server.client.call('listSessions', { query })).sessions)
    print(id, title || 'untitled')
  return 0
}
