import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHome } from './program-under-test.ts'

type Home = ReturnType<typeof createHome>

/** A server whose demo session waits for a permission. */
async function asking(home: Home, config: object = {}) {
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify(config))
  const { url, token } = await home.serve()
  const authorization = `Bearer ${token}`
  const created = await fetch(`${url}/api/sessions`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'demo', cwd: home.folder, prompt: 'show a permission' }),
  })
  const { id } = (await created.json()) as { id: string }
  const state = async () => {
    const answer = await fetch(`${url}/api/sessions/${id}`, { headers: { authorization } })
    return (await answer.json()) as { status: string; requests: { requestId: string; inputHash: string }[] }
  }
  const requests = async () => (await state()).requests
  await expect.poll(async () => (await requests()).length).toBe(1)
  return { url, id, requests, state }
}

const codeOf = (url: string) => new URL(url).hash.slice(1)

it('parley link prints a link that decides, lists and revokes links, and parley verify names the link', async () => {
  await using home = createHome()
  const { url, id, requests, state } = await asking(home, { decideByLink: 'allow' })
  const made = await home.run(['link', 'last', '--allow', '--expires', '15m', '--name', 'for Ana'])
  expect(made).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/can allow or deny.*once/) })
  expect(made.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/decide#[\w-]{43}\n$/)
  expect(made.stderr).toContain('Only this machine can reach that address.')
  const other = JSON.parse((await home.run(['link', id, '--json'])).stdout)
  expect(other).toMatchObject({ decisions: ['deny'], name: 'link from this machine', sessionId: id })

  const { stdout } = await home.run(['link', 'list'])
  expect(stdout).toMatch(/^ID +NAME +SESSION +DECISIONS +EXPIRES +AGE\n/)
  expect(stdout).toMatch(/lnk_\w+ +link for Ana +ses_\w+ +allow,deny +in \d+m +now\n/)
  expect(stdout).not.toContain(codeOf(made.stdout))
  const revoked = await home.run(['link', 'revoke', 'link from this machine'])
  expect(revoked).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(`(${other.linkId})`) })
  expect((await home.run(['link', 'list', '--json'])).stdout.trim().split('\n')).toHaveLength(1)

  const [request] = await requests()
  const decided = await fetch(`${url}/api/linked-decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      code: codeOf(made.stdout.trim()),
      decision: 'allow',
      inputHash: request?.inputHash,
    }),
  })
  expect(decided.status).toBe(200)
  await expect.poll(async () => (await state()).status, { timeout: 20_000 }).toBe('idle')
  const file = join(home.folder, 'session.jsonl')
  const keys = join(home.folder, 'keys.txt')
  await home.run(['export', id, '--proof', '-o', file])
  writeFileSync(keys, (await home.run(['audit', 'keys'])).stdout)
  const verified = await home.run(['verify', file, '--key', keys])
  expect(verified).toMatchObject({ exitCode: 0 })
  expect(verified.stdout).toMatch(
    /Bash {2}completed {2}allowed by a person \(.+, link for Ana lnk_\w+\); input/,
  )
  const { calls } = JSON.parse((await home.run(['verify', file, '--key', keys, '--json'])).stdout)
  expect(calls).toMatchObject([{ by: 'person', actor: { link: { name: 'link for Ana' } } }])
  expect((await home.run(['link', 'list'])).stderr).toMatch(
    /^There are no links that can still decide a request\./,
  )
})

it.each([
  [['link', 'last', '--allow'], /decideByLink/],
  [['link', 'last', '--expires', '25h'], /at most 24h/],
  [['link', 'last', 'req_unknown'], /There is no open permission request "req_unknown"/],
  [['link', 'ses_unknown'], /There is no session/],
  [['link', 'revoke', 'lnk_unknown'], /There is no link "lnk_unknown"/],
])('parley %j is refused, and says why', async (args, said) => {
  await using home = createHome()
  await asking(home)
  const { exitCode, stderr } = await home.run(args)
  expect(stderr).toMatch(said)
  expect(exitCode).not.toBe(0)
})

it('parley link finds the only open request, and says if there is none', async () => {
  await using home = createHome()
  const { id, requests } = await asking(home)
  expect((await home.run(['link', id, '--json'])).exitCode).toBe(0)
  await home.run(['cancel', id])
  await expect.poll(async () => (await requests()).length).toBe(0)
  expect(await home.run(['link', id])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('No permission request of this session waits'),
  })
})
