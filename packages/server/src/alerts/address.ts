import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net'

/**
 * The class of an address that another person chose. It decides whether requests may be sent there.
 * - public: an address of the Internet.
 * - private: an address of this machine or of a private network.
 * - forbidden: never a target: link-local addresses, the metadata services of clouds, multicast and reserved ranges.
 */
export type AddressClass = 'public' | 'private' | 'forbidden'

/** The class of an IP address in text. IPv6 addresses that contain an IPv4 address have the class of that address. */
export function classOf(address: string): AddressClass {
  if (isIPv4(address)) return classOfIPv4(address)
  if (!isIPv6(address) || address.includes('%')) return 'forbidden'
  const groups = groupsOf(address)
  const inner = embeddedIPv4(groups)
  if (inner !== undefined) return classOfIPv4(inner)
  if (forbidden.check(address, 'ipv6')) return 'forbidden'
  if (privateAddresses.check(address, 'ipv6')) return 'private'
  // Everything outside 2000::/3 is reserved.
  return ((groups[0] ?? 0) & 0xe000) === 0x2000 ? 'public' : 'forbidden'
}

function classOfIPv4(address: string): AddressClass {
  if (forbidden.check(address, 'ipv4')) return 'forbidden'
  return privateAddresses.check(address, 'ipv4') ? 'private' : 'public'
}

function groupsOf(address: string): number[] {
  const plain = new SocketAddress({ address, family: 'ipv6' }).address
  const text = plain.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [before = '', after] = text.split('::')
  const parse = (part: string) =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const [start, end] = [parse(before), after === undefined ? [] : parse(after)]
  return [...start, ...new Array<number>(8 - start.length - end.length).fill(0), ...end]
}

/** The IPv4 address in a mapped (::ffff:0:0/96), compatible (::/96), NAT64 (64:ff9b::/96) or 6to4 (2002::/16) address. */
function embeddedIPv4(groups: readonly number[]): string | undefined {
  const dotted = (high = 0, low = 0) => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  const start = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':')
  const isInside = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(start)
  const isCompatible = start === '0:0:0:0:0:0' && (groups[6] ?? 0) !== 0
  if (isInside || isCompatible) return dotted(groups[6], groups[7])
  return groups[0] === 0x2002 ? dotted(groups[1], groups[2]) : undefined
}

const forbidden = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  // The metadata service of Alibaba Cloud, in the shared range of carriers (100.64.0.0/10).
  ['100.100.100.200', 32],
] as const)
  forbidden.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of [
  ['::', 128],
  // Local NAT64, Teredo, documentation and other special ranges.
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  // The metadata service of Amazon, in a private range.
  ['fd00:ec2::', 32],
] as const)
  forbidden.addSubnet(net, bits, 'ipv6')

const privateAddresses = new BlockList()
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  privateAddresses.addSubnet(net, bits, 'ipv4')
privateAddresses.addAddress('::1', 'ipv6')
privateAddresses.addSubnet('fc00::', 7, 'ipv6')
