import type { LookupAddress } from 'node:dns'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Receiver } from './receivers-under-test.ts'
import { createSafeRequest, type Resolver } from './safe-request.ts'

const content = { headers: { 'content-type': 'application/json' }, body: '{}' }

/** Resolves names to these addresses, one answer after another. */
function resolver(...answers: string[][]): Resolver & { asked: number } {
  const resolve: Resolver = (_, __, callback) => {
    const addresses = answers[Math.min(counted.asked++, answers.length - 1)] ?? []
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  const counted = Object.assign(resolve, { asked: 0 })
  return counted
}

describe('an address in a URL', () => {
  const { check } = createSafeRequest({})

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1./',
    'https://0/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://１２７.０.０.１/',
  ])('%s is refused, because it is not public', (url) => {
    expect(() => check(url, 'other')).toThrow(/not a public address/)
    expect(() => check(url, 'push')).toThrow(/not a public address/)
  })

  it.each([
    'http://example.org/',
    'ftp://example.org/',
    'file:///etc/passwd',
    'https://user:pw@example.org/',
    'x',
  ])('%s is refused', (url) => expect(() => check(url, 'other')).toThrow())

  it('over http is refused with the setting that permits it for private addresses', () => {
    expect(() => check('http://127.0.0.1:4872/hook', 'other')).toThrow(/https:\/\/.*alerts\.privateTargets/)
    expect(() => check('http://127.0.0.1:4872/hook', 'push')).toThrow('The address must start with https://.')
  })

  it('that is public or a name is accepted', () => {
    expect(check('https://8.8.8.8/x', 'other').href).toBe('https://8.8.8.8/x')
    expect(check('https://example.org/x', 'push').href).toBe('https://example.org/x')
  })
})

describe('with private targets permitted', () => {
  const { check } = createSafeRequest({ privateTargets: true })

  it('a webhook may have a private address, even over http', () => {
    expect(check('http://127.0.0.1:9/x', 'other').port).toBe('9')
    expect(check('https://192.168.1.1/', 'other').hostname).toBe('192.168.1.1')
  })

  it.each([
    'http://169.254.169.254/',
    'http://[fe80::1]/',
    'http://100.100.100.200/',
    'http://[fd00:ec2::254]/',
  ])('%s, which is link-local or has metadata, is refused nevertheless', (url) =>
    expect(() => check(url, 'other')).toThrow(/not a public address/),
  )

  it('a public address still needs https', () => {
    expect(() => check('http://8.8.8.8/', 'other')).toThrow(/not a public address/)
  })

  it('a push service may not have a private address', () => {
    expect(() => check('https://127.0.0.1/', 'push')).toThrow(/not a public address/)
  })
})

describe('a name', () => {
  it.each([
    ['a private address', ['127.0.0.1']],
    ['a public and a private address', ['8.8.8.8', '10.0.0.1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['a metadata address', ['169.254.169.254']],
    ['no valid address', ['']],
  ])('that has %s is refused, and nothing is connected', async (_, addresses) => {
    await using receiver = await Receiver.open()
    const { post } = createSafeRequest({}, { resolve: resolver(addresses) })
    const { port } = new URL(receiver.origin)
    await expect(post(`https://hooks.example:${port}/`, 'other', content)).rejects.toThrow(
      /not a public address/,
    )
    expect(receiver.received).toEqual([])
  })

  it('over http is refused if its address is public, although private targets are permitted', async () => {
    const { post } = createSafeRequest({ privateTargets: true }, { resolve: resolver(['8.8.8.8']) })
    await expect(post('http://hooks.example/', 'other', content)).rejects.toThrow(/not a public address/)
  })

  it('is resolved once for a request, so that a second answer cannot change the address that was checked', async () => {
    await using receiver = await Receiver.open()
    const { port } = new URL(receiver.origin)
    const resolve = resolver(['127.0.0.1'], ['169.254.169.254'])
    const { post } = createSafeRequest({ privateTargets: true }, { resolve })
    expect(await post(`http://hooks.example:${port}/x`, 'other', content)).toEqual({ status: 200 })
    expect(resolve.asked).toBe(1)
    await expect(post(`http://hooks.example:${port}/x`, 'other', content)).rejects.toThrow(/not a public/)
    expect(receiver.received.map(({ path }) => path)).toEqual(['/x'])
  })

  it('that the system resolves to this machine is refused', async () => {
    const { post } = createSafeRequest({})
    await expect(post('https://localhost:9/', 'other', content)).rejects.toThrow(/not a public address/)
  })
})

describe('a request', () => {
  it('follows no redirect', async () => {
    await using receiver = await Receiver.open()
    receiver.replies = [{ status: 307, headers: { location: `${receiver.origin}/elsewhere` } }]
    const { post } = createSafeRequest({ privateTargets: true })
    expect(await post(`${receiver.origin}/here`, 'other', content)).toEqual({ status: 307 })
    expect(receiver.received.map(({ path }) => path)).toEqual(['/here'])
  })

  it('reaches a listed push service, and no other one on this machine', async () => {
    await using receiver = await Receiver.open()
    const { post } = createSafeRequest({ pushServices: [receiver.origin] })
    expect(await post(`${receiver.origin}/p`, 'push', content)).toEqual({ status: 200 })
    expect(() =>
      createSafeRequest({ pushServices: [receiver.origin] }).check(receiver.origin, 'other'),
    ).toThrow()
    expect(() =>
      createSafeRequest({ pushServices: [`${receiver.origin}0`] }).check(receiver.origin, 'push'),
    ).toThrow()
  })

  it.each([
    ['30', 30_000],
    [new Date(Date.now() + 3600_000).toUTCString(), 3600_000],
  ])('reads Retry-After: %s', async (value, ms) => {
    await using receiver = await Receiver.open()
    receiver.replies = [{ status: 429, headers: { 'retry-after': value } }]
    const { post } = createSafeRequest({ privateTargets: true })
    const { status, retryAfterMs = 0 } = await post(receiver.origin, 'other', content)
    expect(status).toBe(429)
    expect(Math.abs(retryAfterMs - ms)).toBeLessThan(5000)
  })

  it('ends if there is no answer in time', async () => {
    await using receiver = await Receiver.open()
    receiver.replies = [{ status: 0, hang: true }]
    const { post } = createSafeRequest({ privateTargets: true }, { timeoutMs: 50 })
    await expect(post(receiver.origin, 'other', content)).rejects.toThrow(/no answer within/)
  })

  it('ends when the sender closes', async () => {
    await using receiver = await Receiver.open()
    receiver.replies = [{ status: 0, hang: true }]
    const { post, close } = createSafeRequest({ privateTargets: true })
    const ended = post(receiver.origin, 'other', content).then(
      () => 'answered',
      () => 'ended',
    )
    await receiver.count(1)
    close()
    expect(await ended).toBe('ended')
  })

  it('rejects if the connection is refused', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as { port: number }
    await new Promise((resolve) => closed.close(resolve))
    const { post } = createSafeRequest({ privateTargets: true })
    await expect(post(`http://127.0.0.1:${port}/`, 'other', content)).rejects.toThrow(/ECONNREFUSED/)
  })
})
