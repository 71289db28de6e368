import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { ParleyError } from '@parley/protocol'

/** Returns the address of the client of a request. It is never used to decide about access. */
export type ClientAddress = (request: IncomingMessage) => string

/**
 * A proxy of these networks adds the address of its client to X-Forwarded-For. The header of any other sender is
 * ignored. Throws ParleyError `validation_error` for a text that is not a network.
 */
export function createClientAddress(trustedProxies: readonly string[] = []): ClientAddress {
  const trusted = new BlockList()
  for (const network of trustedProxies) addNetwork(trusted, network)
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return ({ socket, headers }) => {
    let address = plain(socket.remoteAddress ?? '')
    if (trustedProxies.length === 0) return address
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    // Each proxy adds its client at the end, so addresses before an untrusted address may be forged.
    while (isIP(address) !== 0 && isTrusted(address)) {
      const before = plain(forwarded.pop()?.trim() ?? '')
      if (isIP(before) === 0) break
      address = before
    }
    return address
  }
}

/**
 * The key of a client for rate limits: its IPv4 address, or its IPv6 /64 network, because one client can use
 * all addresses of that network.
 */
export function clientKey(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const start = head === '' ? [] : head.split(':')
  const end = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - start.length - end.length
  const groups = [...start, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...end]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Removes the prefix `::ffff:`, which an IPv4 address has on a socket that also accepts IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/^\[(.*)\]$/, '$1')
}

function addNetwork(trusted: BlockList, network: string): void {
  const [address = '', bits, ...rest] = network.split('/')
  const family = isIP(address)
  const most = family === 6 ? 128 : 32
  const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
  if (family === 0 || rest.length > 0 || length < 0 || length > most) {
    throw new ParleyError(
      'validation_error',
      `"${network}" is not a network of a proxy; write it like 127.0.0.1 or 10.0.0.0/8.`,
    )
  }
  trusted.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4')
}
