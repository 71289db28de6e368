import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Receiver } from '../alerts/receivers-under-test.ts'
import { createHome } from './program-under-test.ts'

it('parley notify adds, lists, tests and removes webhooks and topics', async () => {
  let secret = ''
  await using hook = await Receiver.webhook(() => secret)
  await using ntfy = await Receiver.open()
  await using home = createHome()
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify({ alerts: { privateTargets: true } }))
  await home.serve()
  expect((await home.run(['notify'])).stderr).toMatch(/^There are no targets for alerts\. Add a webhook: /)

  const added = await home.run([
    'notify',
    'add',
    'webhook',
    `${hook.origin}/in`,
    '--name',
    'ops',
    '--on',
    'turn.failed',
  ])
  expect(added).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/ops \(tgt_\w+\)(.|\n)*not shown again/),
  })
  expect(added.stdout).toMatch(/^whsec_\S{44}\n$/)
  secret = added.stdout.trim()
  const env = { NTFY_TOKEN: 'tk_secret' }
  const topic = await home.run(
    ['notify', 'add', 'ntfy', `${ntfy.origin}/topic`, '--detail', 'none', '--json'],
    { env },
  )
  expect(JSON.parse(topic.stdout)).toMatchObject({
    kind: 'ntfy',
    detail: 'none',
    address: `${ntfy.origin}/topic`,
  })

  expect(await home.run(['notify', 'test', 'ops'])).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/ops accepted/),
  })
  ntfy.replies = [{ status: 403 }]
  const { targetId } = JSON.parse(topic.stdout)
  expect(await home.run(['notify', 'test', targetId, '--json'])).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/"ok":false,"status":403/),
  })
  expect(ntfy.received[0]?.headers.authorization).toBe('Bearer tk_secret')

  const { stdout } = await home.run(['notify', 'list'])
  expect(stdout).toMatch(/^ID +KIND +NAME +ADDRESS +ALERTS +DETAIL +LAST\n/)
  expect(stdout).toMatch(/webhook +ops +http:\S+\/in +turn\.failed +title +sent, now\n/)
  expect(stdout).toMatch(
    /ntfy +127\S+ +http:\S+\/topic +all +none +The target answered with status 403\., now\n/,
  )
  expect(stdout).not.toMatch(/whsec|tk_secret/)

  expect(await home.run(['notify', 'remove', 'ops'])).toMatchObject({ exitCode: 0 })
  expect((await home.run(['notify', 'list', '--json'])).stdout.trim().split('\n')).toHaveLength(1)
})

it.each([
  [['add', 'mail', 'x'], /webhook or ntfy, not "mail"/],
  [['add', 'webhook', 'https://127.0.0.1/'], /not a public address.*alerts\.privateTargets/],
  [['add', 'webhook', 'https://example.org/', '--on', 'turn.begun'], /--on takes request\.waiting/],
  [['add', 'webhook', 'https://example.org/', '--detail', 'most'], /--detail takes none, title, full/],
  [['test', 'nothing'], /nothing/],
])('parley notify %j is refused with a reason', async (args, said) => {
  await using home = createHome()
  await home.serve()
  const { exitCode, stderr } = await home.run(['notify', ...args])
  expect(stderr).toMatch(said)
  expect(exitCode).not.toBe(0)
})
