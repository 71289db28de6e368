import type { Me } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { limitsText, scopesText } from '../rights-text.ts'
import { oneLine } from '../terminal/visible.ts'

/** Prints the person and the token that commands use, with their scopes and limits. */
export async function whoami(
  options: Flags & { readonly json?: boolean },
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const me = await server.client.access.me()
  context.output.out(options.json ? `${JSON.stringify(me)}\n` : `${lines(me).join('\n')}\n`)
  return 0
}

function lines({ person, id, name, scopes, limits }: Me): string[] {
  return [
    `Person: ${oneLine(person.name)} (${person.role}, ${person.personId})`,
    `Token:  ${oneLine(name)} (${id})`,
    `Scopes: ${scopesText(scopes)}`,
    ...(limits ? [`Limits: ${oneLine(limitsText(limits))}`] : []),
  ]
}
