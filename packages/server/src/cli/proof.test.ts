import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerEntry } from '@parley/protocol'
import { expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

/** A finished session of the demo agent with an allowed call, its export and the keys of its server. */
async function exported(home: ReturnType<typeof createHome>) {
  const file = join(home.folder, 'session.jsonl')
  const keys = join(home.folder, 'keys.txt')
  const ran = await home.run(['run', 'demo', 'show a permission', '--on-permission', 'allow'])
  expect(ran.exitCode).toBe(0)
  await home.run(['export', 'last', '--proof', '-o', file])
  writeFileSync(keys, (await home.run(['audit', 'keys'])).stdout)
  return { file, keys }
}

it('parley verify accepts an export, lists its calls, and finds a changed copy', async () => {
  await using home = createHome()
  const { file, keys } = await exported(home)
  // A data folder that does not exist: verifying needs no data of Parley.
  const elsewhere = ['--data-dir', join(home.folder, 'nothing')]
  const good = await home.run(['verify', file, '--key', keys, ...elsewhere])
  expect(good).toMatchObject({ exitCode: 0, stderr: '' })
  expect(good.stdout).toMatch(/Bash {2}completed {2}allowed by a person.*; input [\w-]{43}/)
  expect(good.stdout).toMatch(/Verified up to event \d+\.\n$/)
  expect((await home.run(['verify', file])).stdout).toContain('The keys come from the export itself.')

  const changed = join(home.folder, 'changed.jsonl')
  writeFileSync(changed, readFileSync(file, 'utf8').replace('rm -rf build', 'rm -rf docs'))
  const bad = await home.run(['verify', changed, '--key', keys, '--json'])
  expect(bad.exitCode).toBe(1)
  expect(JSON.parse(bad.stdout)).toMatchObject({ isGood: false })
  expect(JSON.parse(bad.stdout).findings.length).toBeGreaterThan(0)
})

it('parley verify sends no control characters of a file to the terminal', async () => {
  await using home = createHome()
  const hostile = '\u001b]0;owned\u0007\n'
  const about = { seq: 1, at: 1, sessionId: 'ses_a' }
  const lines = [
    { ...about, type: 'session.created', forkedFrom: { sessionId: hostile, seq: hostile } },
    { ...about, seq: 2, sessionId: hostile, type: 'turn.ended' },
  ]
  const file = join(home.folder, 'hostile.jsonl')
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  const keys = join(home.folder, 'keys.txt')
  const { publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(keys, publicKey.export({ type: 'spki', format: 'pem' }))
  const { exitCode, stdout } = await home.run(['verify', file, '--key', keys])
  expect(exitCode).toBe(1)
  expect(stdout).toContain('NOT VERIFIED')
  expect(stdout).not.toContain('\u001b')
  expect(stdout).not.toContain('\u0007')
})

it.each([
  ['edit a file', { Read: 'agent', Edit: 'person' }],
  ['run a command', { Bash: 'person' }],
  ['parallel', { Bash: 'person', Read: 'agent' }],
  ['delegate', { Task: 'reading', Grep: 'agent', Bash: 'person' }],
  ['fail', { WebFetch: 'agent' }],
])('an export of the demo session "%s" verifies, and names the decider of each call', async (prompt, by) => {
  await using home = createHome()
  const file = join(home.folder, 'session.jsonl')
  await home.run(['run', 'demo', prompt, '--on-permission', 'allow'])
  await home.run(['export', 'last', '--proof', '-o', file])
  const verified = await home.run(['verify', file, '--json'])
  expect(verified).toMatchObject({ exitCode: 0 })
  const { calls } = JSON.parse(verified.stdout) as { calls: { tool: string; by: string }[] }
  expect(Object.fromEntries(calls.map((call) => [call.tool, call.by]))).toEqual(by)
})

it('a rule also refuses a call that the demo agent makes without asking', async () => {
  await using home = createHome()
  const file = join(home.folder, 'session.jsonl')
  await home.run(['rules', 'add', 'deny', 'WebFetch'])
  await home.run(['run', 'demo', 'fail'])
  await home.run(['export', 'last', '--proof', '-o', file])
  expect(readFileSync(file, 'utf8')).toMatch(/"type":"permission.resolved".*"outcome":"denied".*"by":"rule"/)
  const verified = await home.run(['verify', file, '--json'])
  expect(verified).toMatchObject({ exitCode: 0 })
  expect(JSON.parse(verified.stdout)).toMatchObject({ calls: [] })
})

it('parley verify detects with a head or with the ledger that the end of a log was cut off', async () => {
  await using home = createHome()
  const { file, keys } = await exported(home)
  const head = (await home.run(['audit', 'head', 'last'])).stdout.trim()
  const ledger = join(home.folder, 'ledger.jsonl')
  await home.run(['audit', 'export', '-o', ledger])
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const seals = lines.flatMap((line, index) => (line.includes('"type":"log.sealed"') ? [index] : []))
  const cut = join(home.folder, 'cut.jsonl')
  writeFileSync(cut, `${lines.slice(0, (seals.at(-2) ?? 0) + 1).join('\n')}\n`)
  const codes = (path: string) =>
    [[], ['--head', head], ['--ledger', ledger]].map(
      async (more) => (await home.run(['verify', path, '--key', keys, ...more])).exitCode,
    )
  expect(await Promise.all(codes(file))).toEqual([0, 0, 0])
  expect(await Promise.all(codes(cut))).toEqual([0, 1, 1])
})

it('parley verify accepts an export of a version whose events have salts, and its head', async () => {
  await using home = createHome()
  const file = join(import.meta.dirname, '..', 'proof', 'fixtures', 'export-with-salts.jsonl')
  const head = 'ses_dwpsfy3fspyep7zps8qs2e5qy:17:KUKiJlHrS8jK3KM41VyML9cflW3de8kX8Q_U9NOBK5o'
  expect(await home.run(['verify', file, '--head', head])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('Verified up to event 17.'),
  })
})

it('parley verify names a file that does not exist', async () => {
  await using home = createHome()
  const file = join(home.folder, 'nothing.jsonl')
  const { exitCode, stderr } = await home.run(['verify', file])
  expect([exitCode, stderr]).toEqual([2, `parley: ${file} does not exist.\n`])
})

it('parley redact removes the content of an event, and the export still verifies', async () => {
  await using home = createHome()
  const { file, keys } = await exported(home)
  const refused = await home.run(['redact', 'last', '2', '--reason', 'a name'])
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') })
  expect((await home.run(['redact', 'last', '2', '--reason', 'a name', '--yes'])).exitCode).toBe(0)
  await home.run(['export', 'last', '--proof', '-o', file])
  expect(readFileSync(file, 'utf8')).not.toContain('show a permission')
  expect((await home.run(['show', 'last'])).stdout).toContain('[redacted]')
  const verified = await home.run(['verify', file, '--key', keys])
  expect(verified).toMatchObject({ exitCode: 0 })
  expect(verified.stdout).toContain('Event 2 (prompt.submitted) was redacted: a name')
  const other = readFileSync(file, 'utf8').replace('"reason":"a name"', '"reason":"another"')
  writeFileSync(file, other)
  expect((await home.run(['verify', file, '--key', keys])).exitCode).toBe(1)
})

it('the ledger records tokens, rules, exports, failed sign-ins and deletions, and parley verify checks it', async () => {
  await using home = createHome()
  const { url, running } = await home.serve()
  await home.run(['run', 'demo', 'help'])
  await home.run(['export', 'last'])
  await home.run(['token', 'create', 'ci', '--scope', 'read'])
  await home.run(['rules', 'add', 'deny', 'Bash'])
  expect((await fetch(`${url}/api/sessions`, { headers: { authorization: 'Bearer wrong' } })).status).toBe(
    401,
  )
  await home.run(['delete', 'last', '--yes'])
  const ledger = join(home.folder, 'ledger.jsonl')
  const keys = join(home.folder, 'keys.txt')
  writeFileSync(keys, (await home.run(['audit', 'keys'])).stdout)
  await home.run(['audit', 'export', '-o', ledger])
  running.child.kill('SIGTERM')
  await running.ended
  const lines = readFileSync(ledger, 'utf8').trimEnd().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as LedgerEntry)
  const kinds = entries.map(({ kind }) => kind)
  for (const kind of [
    'key.added',
    'session.sealed',
    'session.exported',
    'token.created',
    'rule.added',
    'sign-in.failed',
    'session.deleted',
  ])
    expect(kinds).toContain(kind)
  const created = entries.find(({ kind }) => kind === 'token.created')
  expect(created).toMatchObject({ actor: { token: { name: 'this machine' } }, address: '127.0.0.1' })
  expect(readFileSync(ledger, 'utf8')).not.toContain('prly_')
  expect((await home.run(['verify', ledger, '--key', keys])).exitCode).toBe(0)
  writeFileSync(ledger, `${lines.toSpliced(2, 1).join('\n')}\n`)
  expect((await home.run(['verify', ledger, '--key', keys])).exitCode).toBe(1)
})
