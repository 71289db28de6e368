import { generateKeyPairSync } from 'node:crypto'
import { type Client, createClient } from '@parley/client'
import type { LedgerEntry } from '@parley/protocol'
import { expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

const secret = 'sk-parsley-0123456789'

async function entriesOf(client: Client): Promise<LedgerEntry[]> {
  return (await client.call('listAudit', { query: { limit: 1000 } })).entries
}

function signIn(url: string, code: string): Promise<Response> {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  return fetch(`${url}/api/devices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, publicKey: spki }),
  })
}

it('the ledger records links and pairing codes, which code signed a browser in, and wrong codes, but no code', async () => {
  await using home = createHome()
  const { url, token } = await home.serve()
  using client = createClient({ url, token })
  const link = await client.call('createLink')
  const pairing = await client.call('createPairing', { body: { scopes: ['read'] } })
  const code = new URL(link.url).hash.slice(1)
  const statuses = [pairing.code, pairing.code, code, code].map((given) => () => signIn(url, given))
  const answers: number[] = []
  for (const next of statuses) answers.push((await next()).status)
  expect(answers).toEqual([201, 401, 201, 401])

  const entries = await entriesOf(client)
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind)
  const [created] = of('link.created')
  expect(created).toMatchObject({
    subject: expect.stringMatching(/^sgn_/),
    actor: { token: { name: 'this machine' } },
    data: { personId: 'per_owner', usableUntil: link.expiresAt },
  })
  expect(of('pairing.created')).toMatchObject([
    { data: { scopes: ['read'], usableUntil: pairing.expiresAt } },
  ])
  const used = of('device.added').map(({ data }) => data?.code)
  expect(used).toEqual([of('pairing.created')[0]?.subject, created?.subject])
  expect(of('sign-in.failed').map(({ data }) => data)).toEqual([
    { reason: 'link', code: 'pairing' },
    { reason: 'link', code: 'link' },
  ])
  const text = JSON.stringify(entries)
  for (const hidden of [code, pairing.code, pairing.code.replaceAll('-', '')])
    expect(text).not.toContain(hidden)
})

it('the ledger records names of variables and agents whose keys are set, but no value', async () => {
  await using home = createHome()
  const { url, token } = await home.serve()
  using client = createClient({ url, token })
  const cwd = home.folder
  await client.call('setEnvironment', { body: { folder: cwd, variables: { SECOND: secret, THIRD: secret } } })
  await client.call('unsetEnvironment', { query: { folder: cwd, name: 'SECOND' } })
  const key = { params: { id: 'claude' }, body: { variable: 'ANTHROPIC_API_KEY', value: secret } }
  await client.call('setAgentKey', key)
  await client.call('removeAgentKey', { params: { id: 'claude' }, query: { variable: 'ANTHROPIC_API_KEY' } })
  const entries = await entriesOf(client)
  const recorded = entries.filter(({ kind }) => /^(environment|agent)\./.test(kind))
  expect(recorded.map(({ kind, subject, data }) => [kind, subject, data])).toEqual([
    ['environment.changed', cwd, { names: ['SECOND', 'THIRD'] }],
    ['environment.removed', cwd, { name: 'SECOND' }],
    ['agent.key-set', 'claude', { variable: 'ANTHROPIC_API_KEY' }],
    ['agent.key-removed', 'claude', { variable: 'ANTHROPIC_API_KEY' }],
  ])
  for (const { actor } of recorded) expect(actor).toMatchObject({ token: { name: 'this machine' } })
  expect(JSON.stringify(entries)).not.toContain(secret)
})

it('the ledger records the link that the server prints at its start, without its code', async () => {
  await using home = createHome()
  const running = home.start(['serve', '--port', '0'])
  const [link = ''] = /http:\/\/\S+\/open#[\w-]+/.exec(await running.until(/\/open#[\w-]+\s/)) ?? []
  const { stdout } = await home.run(['audit', 'export'])
  const entries = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LedgerEntry)
  const created = entries.filter(({ kind }) => kind === 'link.created')
  expect(created).toMatchObject([{ data: { personId: 'per_owner', usableUntil: expect.any(Number) } }])
  expect(stdout).not.toContain(new URL(link).hash.slice(1))
})
