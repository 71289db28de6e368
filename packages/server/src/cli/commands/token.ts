import { ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { runningServer } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { isAlive, readOwner } from '../owner.ts'
import { rotateToken, tokenFile, tokenOf } from '../token-file.ts'

export type TokenOptions = Flags & {
  readonly link?: boolean
  readonly rotate?: boolean
  readonly json?: boolean
}

/** Prints the token, creates a new token, or asks the running server for a sign-in link. */
export async function token(options: TokenOptions, context: Context): Promise<number> {
  const { output } = context
  const configuration = (options.rotate ? configurationOf : existingConfigurationOf)(context, options)
  if (options.link && options.rotate) {
    throw new ParleyError('validation_error', 'Give either --link or --rotate.')
  }
  if (options.link) {
    await using server = await runningServer(configuration, context)
    const { url } = await server.client.call('createLink')
    output.out(options.json ? `${JSON.stringify({ url })}\n` : `${url}\n`)
    return 0
  }
  if (!options.rotate) {
    output.out(tokenLine(tokenOf(configuration), options))
    return 0
  }
  if (configuration.token) {
    throw new ParleyError(
      'validation_error',
      `The token comes from ${configuration.token.from}, not from ${tokenFile(configuration.dataDir)}: change it there.`,
    )
  }
  output.out(tokenLine(rotateToken(configuration.dataDir), options))
  const owner = readOwner(configuration.dataDir)
  const running = owner && isAlive(owner.pid) ? ` (pid ${owner.pid})` : ''
  output.err(`This is the new token. A running server${running} keeps the old one until it is restarted.\n`)
  return 0
}

function tokenLine(token: string, { json }: TokenOptions): string {
  return json ? `${JSON.stringify({ token })}\n` : `${token}\n`
}
