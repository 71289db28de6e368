import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

async function signIn(link: string, name: string): Promise<void> {
  const { origin, hash } = new URL(link)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  const response = await fetch(`${origin}/api/devices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'Firefox/140.0 (X11; Linux x86_64)' },
    body: JSON.stringify({ code: hash.slice(1), publicKey: spki, person: { name } }),
  })
  expect(response.status).toBe(201)
}

const jsonLines = async (home: Home, ...args: string[]) => {
  const { stdout } = await home.run([...args, '--json'])
  return stdout
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

async function createToken(home: Home, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await home.run(['token', 'create', ...args])
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('It is not shown again')])
  expect(stdout).toMatch(/^prly_[\w-]{43}\n$/)
  return stdout.trim()
}

describe('parley token', () => {
  it('still prints the token of this machine', async () => {
    await using home = createHome()
    await home.serve()
    const { stdout } = await home.run(['token'])
    expect(stdout).toMatch(/^[\w-]{43}\n$/)
    expect(JSON.parse((await home.run(['token', '--json'])).stdout)).toEqual({ token: stdout.trim() })
  })

  it('creates, lists and revokes named tokens', async () => {
    await using home = createHome()
    await home.serve()
    expect((await home.run(['token', 'list'])).stderr).toBe(
      'No named tokens. Create one: npm start -- token create <name> --scope read\n',
    )
    mkdirSync(join(home.folder, 'app'))
    const limited = ['--scope', 'read,prompt', '--folder', 'app', '--agent', 'demo', '--expires', '30d']
    const secret = await createToken(home, 'ci', ...limited)
    await createToken(home, 'reader')
    const [ci, reader] = await jsonLines(home, 'token', 'list')
    expect(ci).toMatchObject({
      name: 'ci',
      scopes: ['read', 'prompt'],
      limits: { folders: [{ folder: join(home.folder, 'app') }], agents: ['demo'] },
      hint: secret.slice(-4),
    })
    expect(Math.round((ci.expiresAt - ci.createdAt) / 86_400_000)).toBe(30)
    expect(reader).toMatchObject({ name: 'reader', scopes: ['read'] })
    const table = (await home.run(['token', 'list'])).stdout
    expect(table).toMatch(/^ID +NAME +SCOPES +LIMITS +EXPIRES +USED\n/)
    expect(table).toMatch(/ci +read,prompt +\/\S+app; agents demo +in 30d +never\n/)
    expect(JSON.stringify([table, ci])).not.toContain(secret)

    expect(await home.run(['token', 'revoke', 'ci'])).toMatchObject({
      exitCode: 0,
      stderr: `Revoked ci (${ci.tokenId}).\n`,
    })
    const refused = await home.run(['sessions'], { env: { PARLEY_TOKEN: secret } })
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toMatch(/^parley: The named token of PARLEY_TOKEN is not valid at http.*revoked/)
  })

  it('lets a command work within the scopes of a named token, and names the scope that is missing', async () => {
    await using home = createHome()
    await home.serve()
    await home.run(['run', 'demo', 'help'])
    const env = { PARLEY_TOKEN: await createToken(home, 'reader', '--scope', 'read') }
    expect(await home.run(['sessions'], { env })).toMatchObject({ exitCode: 0 })
    expect((await home.run(['whoami'], { env })).stdout).toMatch(
      /^Person: .* \(admin, per_\w+\)\nToken: {2}reader \(tok_\w+\)\nScopes: read\n$/,
    )
    for (const args of [
      ['run', 'demo', 'help'],
      ['archive', 'last'],
      ['rules', 'add', 'deny', 'Bash'],
      ['people'],
    ]) {
      const { exitCode, stderr } = await home.run(args, { env })
      expect([args, exitCode]).toEqual([args, 1])
      expect(stderr).toMatch(/^parley: This needs the scope "(prompt|admin)", which "reader" does not have\./)
    }
    const blind = { PARLEY_TOKEN: await createToken(home, 'blind', '--scope', 'prompt') }
    expect((await home.run(['whoami'], { env: blind })).stdout).toContain('Scopes: prompt\n')
    expect((await home.run(['sessions'], { env: blind })).stderr).toContain('the scope "read"')
  })

  it('refuses a named token as the token of a server', async () => {
    await using home = createHome()
    await home.run(['sessions'])
    const env = {
      PARLEY_TOKEN: await createToken(home, 'all', '--scope', 'read,prompt,decide,terminal,admin'),
    }
    for (const args of [['sessions'], ['serve', '--port', '0']]) {
      const { exitCode, stdout, stderr } = await home.start(args, { env }).ended
      expect([exitCode, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(
        /^parley: The token of PARLEY_TOKEN is a named token, which only a running server knows\./,
      )
    }
  })

  it.each([
    [['token', 'create'], "missing required argument 'name'"],
    [['token', 'create', 'x', '--scope', 'reed'], 'not "reed". Did you mean read?'],
    [['token', 'create', 'x', '--expires', 'soon'], '--expires takes a time such as 12h, 30d, 2w or 1y'],
    [['token', 'create', 'x', '--expires', '20y'], 'of at most 10 years, not "20y"'],
    [
      ['token', 'creat', 'x'],
      'unknown command "token creat"; use create, list and revoke. Did you mean "token create"?',
    ],
    [['people', 'invite'], "required option '--role <role>' not specified"],
    [['people', 'invite', '--role', 'viewr'], 'not "viewr". Did you mean viewer?'],
    [['people', 'invit'], 'Did you mean "people invite"?'],
    [['devices', 'rewoke'], 'Did you mean "devices revoke"?'],
    [['whoamy'], 'Did you mean whoami?'],
  ])('answers %j with one line', async (args, words) => {
    await using home = createHome()
    await home.run(['sessions'])
    const { exitCode, stdout, stderr } = await home.run(args)
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^parley: [^\n]*\n$/)
    expect([exitCode, stdout]).toEqual([2, ''])
  })
})

describe('parley people', () => {
  it('invites a person, changes the role and the name, and disables and enables the person', async () => {
    await using home = createHome()
    await home.serve()
    expect((await home.run(['people', 'invites'])).stderr).toContain('No open invitations.')
    const invited = await home.run(['people', 'invite', '--role', 'viewer', '--name', 'Ana'])
    expect(invited.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open#\S+\n$/)
    expect(invited.stderr).toMatch(
      /of a new viewer, once\. It expires in 7d\. To withdraw it: .* people withdraw inv_/,
    )
    expect((await home.run(['people', 'invites'])).stdout).toMatch(/\ninv_\w+ +Ana +viewer +in 7d\n$/)
    await signIn(invited.stdout.trim(), 'Ana')
    expect(await jsonLines(home, 'people', 'invites')).toEqual([])
    expect((await home.run(['people'])).stdout).toMatch(
      /\nper_\w+ +.* \(you\) +admin +active +now\nper_\w+ +Ana +viewer +active/,
    )

    const said = async (...args: string[]) => (await home.run(['people', ...args])).stderr
    expect(await said('role', 'ana', 'approver')).toBe('Ana is now an approver.\n')
    expect(await said('rename', 'Ana', 'Ana B.')).toBe('Renamed Ana to Ana B..\n')
    expect(await said('disable', 'Ana B.')).toContain('Disabled Ana B.')
    expect((await jsonLines(home, 'people'))[1]).toMatchObject({
      name: 'Ana B.',
      role: 'approver',
      disabledAt: expect.any(Number),
    })
    expect(await said('enable', 'Ana B.')).toContain('Enabled Ana B.')
    expect(await said('role', 'Anna B.', 'viewer')).toContain(
      'There is no person "Anna B.". Did you mean Ana B.?',
    )
    expect(await said('disable', 'per_owner')).toContain('always an administrator')
  })

  it('withdraws an invitation, whose link then fails', async () => {
    await using home = createHome()
    await home.serve()
    const [{ url, inviteId }] = await jsonLines(home, 'people', 'invite', '--role', 'admin')
    expect((await home.run(['people', 'withdraw', inviteId.slice(0, 10)])).stderr).toContain(
      `Withdrew the invitation ${inviteId}.`,
    )
    await expect(signIn(url, 'Bo')).rejects.toThrow()
    expect((await home.run(['people', 'withdraw', inviteId])).exitCode).toBe(1)
  })

  it('devices names the person of each browser when there are several people', async () => {
    await using home = createHome()
    await home.serve()
    await signIn((await home.run(['token', '--link'])).stdout.trim(), 'unused')
    expect((await home.run(['devices'])).stdout).toMatch(
      /^ID +BROWSER +SCOPES +SEEN\ndev_\w+ +Firefox on Linux +all +now\n$/,
    )
    await signIn((await home.run(['people', 'invite', '--role', 'member'])).stdout.trim(), 'Ana')
    expect((await home.run(['devices'])).stdout).toMatch(
      /\ndev_\w+ +Firefox on Linux +Ana +read,prompt +now\n$/,
    )
  })
})

it('a token with admin but without decide can remove a rule that allows, but none that refuses', async () => {
  await using home = createHome()
  await home.serve()
  await home.run(['rules', 'add', 'deny', 'Bash'])
  await home.run(['rules', 'add', 'allow', 'Read'])
  const rules = await jsonLines(home, 'rules')
  const idOf = (decision: string) => rules.find((rule) => rule.decision === decision).ruleId as string
  const env = { PARLEY_TOKEN: await createToken(home, 'ops', '--scope', 'read,admin') }
  const refused = await home.run(['rules', 'remove', idOf('deny')], { env })
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('"decide"') })
  expect(await home.run(['rules', 'remove', idOf('allow')], { env })).toMatchObject({ exitCode: 0 })
  expect(await jsonLines(home, 'rules')).toMatchObject([{ decision: 'deny' }])
  expect(await home.run(['rules', 'remove', idOf('deny')])).toMatchObject({ exitCode: 0 })
})
