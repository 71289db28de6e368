import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { clientKey, createClientAddress } from './client-address.ts'

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

describe('the address of a client', () => {
  it('is that of the socket unless a proxy is trusted', () => {
    const address = createClientAddress()
    expect(address(from('10.0.0.1', '1.2.3.4'))).toBe('10.0.0.1')
    expect(address(from('::ffff:10.0.0.1'))).toBe('10.0.0.1')
  })

  it('is taken from the header of a trusted proxy only', () => {
    const address = createClientAddress(['127.0.0.1', 'fd00::/8'])
    expect(address(from('127.0.0.1', '1.2.3.4'))).toBe('1.2.3.4')
    expect(address(from('::ffff:127.0.0.1', '1.2.3.4'))).toBe('1.2.3.4')
    expect(address(from('fd00::1', '2001:db8::1'))).toBe('2001:db8::1')
    expect(address(from('10.0.0.1', '1.2.3.4'))).toBe('10.0.0.1')
  })

  it('is the last address in the header that is not a trusted proxy, because a client can add addresses before it', () => {
    const address = createClientAddress(['127.0.0.0/8', '10.0.0.0/8'])
    expect(address(from('127.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.7'))).toBe('1.2.3.4')
    expect(address(from('127.0.0.1', '10.0.0.7'))).toBe('10.0.0.7')
    expect(address(from('127.0.0.1', '1.2.3.4, unknown'))).toBe('127.0.0.1')
    expect(address(from('127.0.0.1'))).toBe('127.0.0.1')
  })

  it.each(['', 'localhost', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '::/129', '10.0.0'])(
    'cannot come from the network "%s"',
    (network) => {
      expect(() => createClientAddress([network])).toThrow(
        expect.objectContaining({ code: 'validation_error' }),
      )
    },
  )
})

it('addresses of one IPv6 network count as one client', () => {
  expect(clientKey('1.2.3.4')).toBe('1.2.3.4')
  expect(clientKey('2001:db8:1:2:3:4:5:6')).toBe(clientKey('2001:db8:1:2::9'))
  expect(clientKey('2001:db8:1:2::1')).not.toBe(clientKey('2001:db8:1:3::1'))
  expect(clientKey('::1')).toBe('0:0:0:0::/64')
})
