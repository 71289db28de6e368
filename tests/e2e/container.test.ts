import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TemporaryFolder } from '../../packages/server/src/testing/temporary-folder.ts'
import { type PackedPackages, packageNames, packPackages } from './packed-packages.ts'

/**
 * Tests Dockerfile and compose.yaml without a container: the commands of the last stage run here, in folders
 * that replace the folders of the image. If the tests run as root, the commands run as another user. The
 * first stage only builds and packs the packages, which the tests do themselves.
 */
const root = resolve(import.meta.dirname, '../..')
const last = instructionsOf(readFileSync(join(root, 'Dockerfile'), 'utf8')).at(-1) ?? []
const compose = readFileSync(join(root, 'compose.yaml'), 'utf8')

const one = (name: string) => last.find((instruction) => instruction.name === name)?.text ?? ''
const all = (name: string) => last.filter((instruction) => instruction.name === name).map(({ text }) => text)
const variables = () =>
  Object.fromEntries(
    [...one('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  )

describe('the image', () => {
  it('has git, a user without rights, a volume for the data and a health check, and no secret', () => {
    expect(one('FROM')).toBe('node:24-slim')
    expect(all('RUN').join('\n')).toMatch(/apt-get install .*\bgit\b/)
    expect(last.findLast(({ name }) => name === 'USER')?.text).toBe('node')
    expect(one('VOLUME')).toBe('["/data"]')
    expect(one('HEALTHCHECK')).toContain(`127.0.0.1:${variables().PARLEY_PORT}/api/health`)
    expect(one('EXPOSE')).toBe(variables().PARLEY_PORT)
    expect(Object.keys(variables())).not.toContain('PARLEY_TOKEN')
    expect(all('ARG')).toEqual([])
  })

  it('is run by compose.yaml with an init process, on loopback, with the token from a file and without rights', () => {
    const { PARLEY_PORT: port, PARLEY_TOKEN_FILE: tokenFile = '' } = variables()
    expect(compose).toMatch(/^ {4}init: true$/m)
    expect(compose).toContain(`- 127.0.0.1:${port}:${port}\n`)
    expect(tokenFile).toBe('/run/secrets/parley_token')
    expect(compose).toMatch(/^secrets:\n {2}parley_token:\n {4}file: /m)
    expect(compose).toContain('secrets: [parley_token]')
    for (const limit of ['read_only: true', 'cap_drop: [ALL]', 'security_opt: ["no-new-privileges:true"]'])
      expect(compose).toContain(limit)
    expect(readFileSync(join(root, '.dockerignore'), 'utf8')).toMatch(/^parley-token$/m)
    expect(readFileSync(join(root, '.gitignore'), 'utf8')).toMatch(/^\/parley-token$/m)
  })
})

describe('its commands', () => {
  const place = new TemporaryFolder()
  const at = (...path: string[]) => join(place.path, ...path)
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const token = 'the-token-of-the-container'
  let packages: PackedPackages
  let port: number

  /** A text of the Dockerfile, with the folders and the port of this test. */
  const here = (text: string) =>
    text
      .replaceAll('/data', at('data'))
      .replaceAll('/run/secrets', at('secrets'))
      .replaceAll('4747', `${port}`)
  const env = () => ({
    ...Object.fromEntries(Object.entries(variables()).map(([name, value]) => [name, here(value)])),
    PATH: [at('usr', 'bin'), '/usr/bin', '/bin'].join(delimiter),
    // The image sets a home folder in /data. Here, HOME is a folder that is not writable.
    HOME: at('home'),
    TMPDIR: at('tmp'),
  })
  const options = () => ({ cwd: at('work'), env: env(), ...user })
  const run = (command: readonly string[]) => {
    const [program = '', ...args] = command
    return spawnSync(program, args, { ...options(), encoding: 'utf8' })
  }
  const health = () => run((JSON.parse(one('HEALTHCHECK').replace(/^.*CMD /s, '')) as string[]).map(here))

  beforeAll(async () => {
    packages = packPackages()
    port = await freePort()
    chmodSync(place.path, 0o755)
    for (const name of ['usr', 'data', 'home', 'tmp', 'work', 'secrets']) mkdirSync(at(name))
    for (const name of ['data', 'tmp', 'work']) chown(at(name))
    chmodSync(at('home'), 0o555)
    writeFileSync(at('secrets', 'parley_token'), `${token}\n`, { mode: 0o400 })
    chown(at('secrets', 'parley_token'))
    install()
    chmodSync(at('usr', 'bin'), 0o555)
  }, 600_000)
  afterAll(() => {
    chmodSync(at('usr', 'bin'), 0o755)
    place[Symbol.dispose]()
    packages?.remove()
  })

  const chown = (path: string) => {
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid)
  }

  /** Runs the npm command of the Dockerfile, offline and with another prefix. */
  function install(): void {
    const command = all('RUN').find((text) => text.includes('npm install --global')) ?? ''
    const words =
      command
        .replace(/^--mount=\S+\s+/, '')
        .split(' && ')[0]
        ?.split(/\s+/) ?? []
    expect(words).toContain('/packages/*.tgz')
    const files = packageNames.map((name) => packages.fileOf(name))
    const args = words.slice(1).filter((word) => word !== '/packages/*.tgz')
    const node = dirname(process.execPath)
    execFileSync('npm', [...args, '--prefix', at('usr'), '--prefer-offline', ...files], {
      env: { ...process.env, PATH: `${node}${delimiter}${process.env.PATH}` },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    copyFileSync(process.execPath, at('usr', 'bin', 'node'))
    chmodSync(at('usr', 'bin', 'node'), 0o755)
  }

  it('serve with a home that cannot be written, answer the health check, and stop on SIGTERM', async () => {
    expect(health().status).toBe(1)
    const command = [...(JSON.parse(one('ENTRYPOINT')) as string[]), ...(JSON.parse(one('CMD')) as string[])]
    const [program = '', ...args] = command
    const child = spawn(program, args, { ...options(), stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = once(child, 'exit')
    let log = ''
    child.stdout.on('data', (text) => {
      log += text
    })
    child.stderr.on('data', (text) => {
      log += text
    })
    while (health().status !== 0 && child.exitCode === null);
    expect(child.exitCode, log).toBeNull()

    const answered = run(['parley', 'run', 'demo', 'help'])
    expect(answered).toMatchObject({ status: 0, stdout: expect.stringContaining('asks for permission') })
    const link = run(['parley', 'token', '--link'])
    expect(link.stdout).toContain(`http://127.0.0.1:${port}/open#`)
    const headers = { authorization: `Bearer ${token}` }
    const listed = await fetch(`http://127.0.0.1:${port}/api/sessions`, { headers })
    expect((await listed.json()).sessions).toHaveLength(1)
    expect((await fetch(`http://127.0.0.1:${port}/api/sessions`)).status).toBe(401)
    const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('/assets/')

    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(log).not.toContain(token)
    expect(log).not.toContain('/open#')
    expect(readdirSync(at('home'))).toEqual([])
    const { mode, uid } = statSync(at('data', 'parley'))
    expect([mode & 0o777, uid]).toEqual([0o700, user.uid ?? process.getuid?.()])
  })
})

type Instruction = { readonly name: string; readonly text: string }

function instructionsOf(dockerfile: string): Instruction[][] {
  const lines = dockerfile
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '')
  const stages: Instruction[][] = []
  for (const line of lines) {
    const [name = '', ...words] = line.split(' ')
    if (name === 'FROM') stages.push([])
    stages.at(-1)?.push({ name, text: words.join(' ') })
  }
  return stages
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
