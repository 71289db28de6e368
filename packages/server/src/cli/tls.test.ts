import { copyFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { CertificateAuthority } from '../testing/certificate-authority.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { createHome } from './program-under-test.ts'

const authority = new CertificateAuthority(folderForFile())
authority.issue('first', 'subjectAltName=DNS:parley.example')
authority.issue('second', 'subjectAltName=DNS:parley.example')
const ca = authority.text('ca.crt')
const files = (cert: string, key = cert) => [
  '--tls-cert',
  authority.path(`${cert}.crt`),
  '--tls-key',
  authority.path(`${key}.key`),
]

/** The serial number of the certificate that a server presents, checked as a browser does. */
function serialAt(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(url).port),
      ca,
      servername: 'parley.example',
    })
    socket.on('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

describe('a server with a certificate', () => {
  it('serves https and wss, and commands work although the certificate is not for the address that they use', async () => {
    await using home = createHome()
    const { url, token } = await home.serve([...files('first'), '--public-url', 'https://parley.example'])
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(await serialAt(url)).toMatch(/^[0-9A-F]+$/)
    await expect(fetch(url)).rejects.toThrow()

    expect(await home.run(['run', 'demo', 'help', '--cwd', home.folder])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('demo agent'),
    })
    expect((await home.run(['sessions', '--json'])).stdout).toContain('"agent":"demo"')
    expect((await home.run(['token', '--link'])).stdout).toMatch(/^https:\/\/parley\.example\/open#/)

    const at = { ca, servername: 'parley.example', headers: { host: 'parley.example' } }
    const socket = new WebSocket(
      `${url.replace('https', 'wss')}/api/ws`,
      ['parley.v1', `bearer.${token}`],
      at,
    )
    await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
    socket.close()
  })

  it('uses a renewed certificate without a restart, and keeps the old one if the new one cannot be used', async () => {
    await using home = createHome()
    for (const kind of ['crt', 'key'])
      copyFileSync(authority.path(`first.${kind}`), authority.path(`live.${kind}`))
    const { url, running } = await home.serve(files('live'))
    const before = await serialAt(url)

    writeFileSync(authority.path('live.crt'), 'not a certificate')
    await running.until('keeps its certificate')
    expect(await serialAt(url)).toBe(before)
    for (const kind of ['crt', 'key'])
      copyFileSync(authority.path(`second.${kind}`), authority.path(`live.${kind}`))
    await running.until('uses a new certificate')
    expect(await serialAt(url)).not.toBe(before)
  })

  it('accepts only its own Host, over https', async () => {
    await using home = createHome()
    const { url, token } = await home.serve(files('first'))
    const status = (headers: Record<string, string>) =>
      new Promise((resolve, reject) => {
        const options = {
          rejectUnauthorized: false,
          headers: { authorization: `Bearer ${token}`, ...headers },
        }
        request(`${url}/api/agents`, options, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end()
      })
    const { host } = new URL(url)
    expect(await status({ host, origin: url })).toBe(200)
    expect(await status({ host, origin: `http://${host}` })).toBe(403)
    expect(await status({ host: 'evil.example' })).toBe(403)
  })
})

describe('a certificate is refused at the start', () => {
  authority.issue('expired', 'subjectAltName=DNS:parley.example', ['-days', '-1'])
  writeFileSync(authority.path('empty.crt'), '')
  writeFileSync(authority.path('empty.key'), '')

  it.each([
    ['that has expired', files('expired'), 'expired at 20'],
    ['with the key of another one', files('first', 'second'), 'does not belong'],
    ['that is missing', files('nothing'), 'cannot be read (ENOENT)'],
    ['that is no certificate', files('empty'), 'contains no certificate'],
    ['with a key that is none', files('first', 'empty'), 'contains no private key'],
    ['without a key', files('first').slice(0, 2), 'give --tls-key too'],
  ])('%s', async (_, args, message) => {
    await using home = createHome()
    const { exitCode, stderr } = await home.start(['serve', '--port', '0', ...args]).ended
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
