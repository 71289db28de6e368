import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { CertificateAuthority } from '../testing/certificate-authority.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import type { Check } from './checks.ts'
import { certificateCheck } from './doctor-reach.ts'
import { createHome } from './program-under-test.ts'

const day = 86_400_000

function homeForTest() {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  return home
}

it('doctor reports whether the public URL reaches this server, another server, or none', async () => {
  const [home, other] = [homeForTest(), homeForTest()]
  const served = await home.serve()
  const stranger = await other.serve()
  const check = async (publicUrl: string) => {
    const { stdout } = await home.run(['doctor', '--json'], { env: { PARLEY_PUBLIC_URL: publicUrl } })
    const checks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Check)
    return checks.find(({ name }) => name === 'public URL')
  }
  expect(await check(served.url)).toMatchObject({ result: 'ok' })
  expect(await check(stranger.url)).toMatchObject({
    result: 'warn',
    text: expect.stringContaining('another server'),
  })
  stranger.running.child.kill('SIGTERM')
  await stranger.running.ended
  expect(await check(stranger.url)).toMatchObject({
    result: 'warn',
    text: expect.stringContaining('ECONNREFUSED'),
  })
  served.running.child.kill('SIGTERM')
  await served.running.ended
  expect(await check(served.url)).toMatchObject({
    result: 'info',
    text: expect.stringContaining('no server runs'),
  })
})

it('doctor warns two weeks before a certificate expires, and fails for one that cannot be used', () => {
  const folder = folderForTest()
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  expect(certificateCheck(files, Date.now())).toMatchObject({
    result: 'fail',
    text: expect.stringContaining('cert.pem'),
  })
  const subject = ['-subj', '/CN=parley', '-addext', 'subjectAltName=DNS:parley.example', '-days', '90']
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    files.keyFile,
  ]
  execFileSync('openssl', ['req', '-x509', ...key, '-out', files.certFile, ...subject], { stdio: 'pipe' })
  expect(certificateCheck(files, Date.now())).toMatchObject({
    result: 'ok',
    text: expect.stringMatching(/^for parley\.example, valid until 20/),
  })
  expect(certificateCheck(files, Date.now() + 80 * day)).toMatchObject({
    result: 'warn',
    text: expect.stringContaining('renew'),
  })
  expect(certificateCheck(files, Date.now() + 91 * day)).toMatchObject({
    result: 'fail',
    text: expect.stringContaining('expired'),
  })
})

it('doctor shows the address at which Tailscale serves this server, and warns if the internet can reach it', async () => {
  const home = homeForTest()
  const { url } = await home.serve()
  const bin = join(home.folder, 'bin')
  mkdirSync(bin)
  const host = 'desk.tail1234.ts.net:443'
  const served = { Web: { [host]: { Handlers: { '/': { Proxy: url } } } } }
  const doctor = async (status: object) => {
    const script = `#!/bin/sh\ncat <<'END'\n${JSON.stringify(status)}\nEND\n`
    writeFileSync(join(bin, 'tailscale'), script, { mode: 0o755 })
    return (await home.run(['doctor'], { env: { PATH: `${bin}:${process.env.PATH}` } })).stdout
  }
  expect(await doctor(served)).toMatch(/^info tailscale +https:\/\/desk\.tail1234\.ts\.net$/m)
  expect(await doctor({ ...served, AllowFunnel: { [host]: true } })).toMatch(
    /^warn tailscale .*open to everybody/m,
  )
})

it('doctor warns of a certificate for another host than that of the public URL, and of plain HTTP for other machines', async () => {
  const authority = new CertificateAuthority(folderForTest())
  authority.issue('site', 'subjectAltName=DNS:parley.example,DNS:*.home.example', ['-days', '90'])
  const files = { certFile: authority.path('site.crt'), keyFile: authority.path('site.key') }
  const check = (publicUrl: string) => certificateCheck(files, Date.now(), publicUrl)
  expect(check('https://parley.example').result).toBe('ok')
  expect(check('https://a.home.example/tools').result).toBe('ok')
  for (const host of ['a.b.home.example', 'home.example', 'other.example'])
    expect(check(`https://${host}`)).toMatchObject({
      result: 'warn',
      text: expect.stringContaining(`but not for ${host}`),
    })

  const home = homeForTest()
  const encryption = async (env: Record<string, string>) =>
    /^warn +encryption .*/m.exec((await home.run(['doctor'], { env })).stdout)?.[0]
  expect(await encryption({ PARLEY_HOST: '0.0.0.0' })).toContain('cannot sign in')
  expect(await encryption({})).toBeUndefined()
})
