import { defined, ParleyError, type Role, roleScopes } from '@parley/protocol'
import { isLoopback } from '../../faces/http/authentication.ts'
import { publicAddressOf } from '../../faces/http/public-address.ts'
import type { Flags } from '../configuration.ts'
import { runningServer } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { qrLines } from '../qr-code.ts'
import { oneLine } from '../terminal/visible.ts'

export type PairOptions = Flags & {
  readonly as?: Role
  readonly name?: string
  readonly url?: string
  readonly tailscale?: boolean
  readonly json?: boolean
}

/** Creates a pairing code at the running server, and prints it with a QR code of its link. */
export async function pair(options: PairOptions, context: Context): Promise<number> {
  const { as, name, json } = options
  const { output } = context
  if (options.url !== undefined && options.tailscale)
    throw new ParleyError('validation_error', 'Give either --url or --tailscale.')
  const given = options.url === undefined ? undefined : publicAddressOf(options.url, '--url').url
  await using server = await runningServer(existingConfigurationOf(context, options), context)
  const url = options.tailscale ? await tailscaleUrl(server.url, context) : given
  if (url !== undefined) {
    await server.client.call('setPublicUrl', { body: { url } })
    output.err(`To use ${url} after the next start of the server too, set "publicUrl" in config.json.\n`)
  }
  const body = defined({ name, scopes: as && [...roleScopes[as]] })
  const pairing = await server.client.call('createPairing', { body })
  if (json) output.out(`${JSON.stringify(pairing)}\n`)
  else output.out(shown(pairing, context))
  if (isLoopback(new URL(pairing.url).hostname.replace(/^\[|\]$/g, '')))
    output.err(await advice(server.url, context))
  return 0
}

function shown({ code, url }: { code: string; url: string }, { output }: Context): string {
  const { bold, dim } = output.outStyle
  const [address = '', letters = ''] = url.split('#')
  return [
    ...qrLines(url, { isColoured: bold('.') !== '.' }),
    '',
    `${dim('scan')}  the code above, or open  ${address}#${letters}`,
    `${dim('type')}  ${bold(code)}  at  ${address}`,
    'The code signs one device in, within ten minutes.',
    '',
  ].join('\n')
}

async function tailscaleUrl(server: string, context: Context): Promise<string> {
  const { serveByTailscale } = await import('../tunnels.ts')
  return serveByTailscale(new URL(server), context)
}

/** Advice on how other devices can reach a server that listens only on this machine. */
async function advice(server: string, context: Context): Promise<string> {
  const { findTunnels } = await import('../tunnels.ts')
  const tunnels = await findTunnels(Number(new URL(server).port), context)
  const { commandLine } = context
  const lines = tunnels
    .filter(({ leadsHere }) => leadsHere !== false)
    .map(({ program, url, leadsHere }) => {
      const tunnel = `${program} serves ${leadsHere ? 'this server' : 'a program of this machine'} at ${oneLine(url)}`
      // Any user of this machine can listen on the port of cloudflared and report a false name.
      const check = program === 'cloudflared' ? ' Compare the name with the output of cloudflared first.' : ''
      return `${tunnel}.${check} To pair through it: ${commandLine(`pair --url ${url}`)}`
    })
  return [
    'Only this machine can reach that address.',
    ...(lines.length > 0
      ? lines
      : [`For other devices, see docs/operations.md, or use Tailscale: ${commandLine('pair --tailscale')}`]),
    '',
  ].join('\n')
}
