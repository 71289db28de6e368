import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

/**
 * Installs a replacement for another vendor's program into the home. It answers like that program, and records its
 * calls.
 */
function install(
  home: Home,
  name: string,
  script: string,
): { env: Record<string, string>; calls(): string[] } {
  const bin = join(home.folder, 'bin')
  const record = join(home.folder, `${name}.calls`)
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, name), `#!/bin/sh\necho "$*" >> '${record}'\n${script}`)
  chmodSync(join(bin, name), 0o755)
  writeFileSync(record, '')
  return {
    env: { PATH: `${bin}:${process.env.PATH}` },
    calls: () => readFileSync(record, 'utf8').split('\n').filter(Boolean),
  }
}

const status = (state: string) =>
  JSON.stringify({
    Version: '1.90.0',
    BackendState: state,
    Self: { DNSName: 'desk.tail1.ts.net.', Online: true },
  })
const web = (target: string) =>
  JSON.stringify({
    TCP: { 443: { HTTPS: true } },
    Web: { 'desk.tail1.ts.net:443': { Handlers: { '/': { Proxy: target } } } },
  })

/** A replacement for Tailscale. It serves nothing until `tailscale serve` is called. */
const tailscale = (state: string, served = 'null') => `
case "$1 $2" in
  "status --json") echo '${status(state)}' ;;
  "serve status") echo '${served}' ;;
  "serve --bg") echo "Available within your tailnet:" ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac`

describe('parley pair', () => {
  it('prints a QR code, a code to type and a link, and says that only this machine can reach it', async () => {
    await using home = createHome()
    const { url } = await home.serve()
    const { exitCode, stdout, stderr } = await home.run(['pair'])
    expect(exitCode).toBe(0)
    const [code = ''] = /([2-9A-HJ-NP-Z]{4}-){2}[2-9A-HJ-NP-Z]{4}/.exec(stdout) ?? []
    expect(stdout).toContain(`${url}/pair#${code.replaceAll('-', '')}`)
    const picture = stdout.split('\n').filter((line) => /^[█▀▄ ]+$/.test(line))
    expect(picture.length).toBeGreaterThan(14)
    expect(new Set(picture.map((line) => line.length)).size).toBe(1)
    expect(stderr).toContain('Only this machine can reach that address')
  })

  it('gives a device a name and fewer rights, and prints JSON', async () => {
    await using home = createHome()
    const { url } = await home.serve()
    const { stdout } = await home.run(['pair', '--as', 'viewer', '--name', 'Tablet', '--json'])
    const pairing = JSON.parse(stdout) as { url: string; scopes: string[] }
    expect(pairing).toMatchObject({ url: expect.stringContaining(`${url}/pair#`), scopes: ['read'] })
    expect((await home.run(['pair', '--as', 'nobody'])).exitCode).toBe(2)
  })

  it('needs a running server, and starts none', async () => {
    await using home = createHome()
    expect(await home.run(['pair'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('No server uses'),
    })
  })

  it('uses the public URL of the server, and with --url another one until the server ends', async () => {
    await using home = createHome()
    await home.serve(['--public-url', 'https://parley.example/tools'])
    expect((await home.run(['pair'])).stdout).toContain('https://parley.example/tools/pair#')
    const given = await home.run(['pair', '--url', 'https://other.example'])
    expect(given.stdout).toContain('https://other.example/pair#')
    expect(given.stderr).toContain('publicUrl')
    expect((await home.run(['pair'])).stdout).toContain('https://other.example/pair#')
    expect(await home.run(['pair', '--url', 'other.example'])).toMatchObject({ exitCode: 2 })
  })
})

describe('parley pair with Tailscale', () => {
  it('lets Tailscale serve the port of the server, and uses its address', async () => {
    await using home = createHome()
    const { env, calls } = install(home, 'tailscale', tailscale('Running'))
    const { url } = await home.serve()
    const { stdout, stderr, exitCode } = await home.run(['pair', '--tailscale'], { env })
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('Available within your tailnet')])
    expect(stdout).toContain('https://desk.tail1.ts.net/pair#')
    expect(calls()).toContain(`serve --bg ${url}`)
    const answer = await fetch(`${url}/api/health`, { headers: { origin: 'https://desk.tail1.ts.net' } })
    expect(answer.status).toBe(200)
  })

  it('does not run tailscale serve again for a port that is already served, and finds that port without the option', async () => {
    await using home = createHome()
    const { url } = await home.serve()
    const { env, calls } = install(home, 'tailscale', tailscale('Running', web(url)))
    expect((await home.run(['pair'], { env })).stderr).toContain(
      'tailscale serves this server at https://desk.tail1.ts.net. To pair through it: npm start -- pair --url https://desk.tail1.ts.net',
    )
    const { stdout } = await home.run(['pair', '--tailscale'], { env })
    expect(stdout).toContain('https://desk.tail1.ts.net/pair#')
    expect(calls().filter((call) => call.startsWith('serve --bg'))).toEqual([])
  })

  it.each([
    [
      'serves another program',
      tailscale('Running', web('http://127.0.0.1:3000')),
      'already serves another program',
    ],
    ['is not connected', tailscale('NeedsLogin'), 'tailscale up'],
    [
      'refuses',
      tailscale('Running').replace('echo "Available within your tailnet:"', 'exit 3'),
      'exit code 3',
    ],
  ])('changes nothing if Tailscale %s', async (_, script, message) => {
    await using home = createHome()
    const { env } = install(home, 'tailscale', script)
    const { url } = await home.serve()
    expect(await home.run(['pair', '--tailscale'], { env })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(message),
    })
    const answer = await fetch(`${url}/api/health`, { headers: { origin: 'https://desk.tail1.ts.net' } })
    expect(answer.status).toBe(403)
  })

  it('reports that Tailscale is not installed', async () => {
    await using home = createHome()
    await home.serve()
    const env = { PATH: join(home.folder, 'nothing') }
    expect(await home.run(['pair', '--tailscale'], { env })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Install Tailscale'),
    })
  })
})

it('the name of a quick tunnel of cloudflared is shown, and used only when it is given', async () => {
  await using home = createHome()
  let hostname = 'evil.example'
  const metrics = createServer((_, answer) => answer.end(JSON.stringify({ hostname })))
  metrics.listen(20241, '127.0.0.1')
  onTestFinished(() => void metrics.close())
  const { url } = await home.serve()
  expect((await home.run(['pair'])).stderr).not.toContain('evil')
  hostname = 'four-random-words.trycloudflare.com'
  const { stdout, stderr } = await home.run(['pair'])
  expect(stdout).toContain(`${url}/pair#`)
  expect(stderr).toContain(
    'cloudflared serves a program of this machine at https://four-random-words.trycloudflare.com',
  )
  expect(stderr).toContain('Compare the name with the output of cloudflared')
})
