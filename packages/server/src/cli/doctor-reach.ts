import { messageOf } from '@parley/protocol'
import { isLoopback } from '../faces/http/authentication.ts'
import { readCertificate } from '../faces/http/certificate.ts'
import { type Check, fail, ok, warn } from './checks.ts'
import type { Configuration } from './configuration.ts'
import type { Context } from './context.ts'
import { readOwner } from './owner.ts'
import { findTunnels } from './tunnels.ts'

/** The checks of `parley doctor` for the ways in which other machines reach the server. */

const askMs = 5_000
const soonMs = 14 * 86_400_000

/** `url` is the address of the running server, if one runs. */
export async function reachChecks(
  configuration: Configuration,
  context: Context,
  url: string | undefined,
): Promise<Check[]> {
  const { tls, publicUrl, host, port, dataDir } = configuration
  const checks = [
    ...(isLoopback(host) || tls || publicUrl?.startsWith('https:') ? [] : [plainCheck(configuration)]),
    ...(tls ? [certificateCheck(tls, Date.now(), publicUrl)] : []),
    ...(publicUrl === undefined
      ? []
      : [await publicUrlCheck(publicUrl, url && readOwner(dataDir)?.instance)]),
    ...(await tunnelChecks(url === undefined ? port : Number(new URL(url).port || 80), context)),
  ]
  if (checks.length > 0) return checks
  return [{ name: 'reach', result: 'info', text: 'this machine only; see docs/operations.md' }]
}

function plainCheck({ host, allowInsecure }: Configuration): Check {
  const text = allowInsecure
    ? `browsers sign in over plain HTTP at ${host}: anybody who can read the network traffic can act as them`
    : `${host} is reached without TLS, so browsers on other machines cannot sign in; see docs/operations.md`
  return warn('encryption', text)
}

export function certificateCheck(
  files: NonNullable<Configuration['tls']>,
  now: number,
  publicUrl?: string,
): Check {
  const name = 'certificate'
  try {
    const { names, validTo } = readCertificate(files, now)
    const text = `for ${names.join(', ') || 'no name'}, valid until ${validTo.toISOString().slice(0, 10)}`
    const host = publicUrl?.startsWith('https:') ? new URL(publicUrl).hostname : undefined
    if (host !== undefined && !names.some((certified) => isFor(certified, host)))
      return warn(name, `${text}, but not for ${host}, the host of the public URL`)
    return validTo.getTime() - now < soonMs ? warn(name, `${text}: renew it`) : ok(name, text)
  } catch (thrown) {
    return fail(name, messageOf(thrown))
  }
}

function isFor(certified: string, host: string): boolean {
  const wildcard = certified.startsWith('*.') ? certified.slice(2) : undefined
  return certified === host || host.split('.').slice(1).join('.') === wildcard
}

/** Whether the server that answers at the public URL is the server of this data folder. */
async function publicUrlCheck(publicUrl: string, instance: string | undefined): Promise<Check> {
  const name = 'public URL'
  if (instance === undefined)
    return { name, result: 'info', text: `${publicUrl}, not checked: no server runs` }
  try {
    const answer = await fetch(`${publicUrl}/api/health`, {
      signal: AbortSignal.timeout(askMs),
      redirect: 'error',
    })
    const health = (await answer.json()) as { instance?: unknown }
    if (health.instance === instance) return ok(name, `${publicUrl} reaches this server`)
    return warn(name, `another server answers at ${publicUrl}. Check the proxy`)
  } catch (thrown) {
    const { cause } = thrown as { cause?: NodeJS.ErrnoException }
    const why = cause?.code ?? messageOf(thrown)
    return warn(name, `${publicUrl} does not reach this server from this machine (${why}). Check the proxy`)
  }
}

async function tunnelChecks(port: number, context: Context): Promise<Check[]> {
  const tunnels = (await findTunnels(port, context)).filter(({ leadsHere }) => leadsHere !== false)
  return tunnels.map(({ program, url, isOpen }) => {
    const text = `${url}${isOpen ? ', open to everybody on the internet' : ''}`
    return isOpen ? warn(program, text) : { name: program, result: 'info', text }
  })
}
