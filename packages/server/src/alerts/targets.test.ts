import { expect, it } from 'vitest'
import { alertsUnderTest, owner } from './alerts-under-test.ts'
import { Browser, Receiver } from './receivers-under-test.ts'

const hook = { kind: 'webhook', url: 'https://hooks.example.org/secret/path?key=1' } as const
const guest = {
  ...owner,
  person: { id: 'per_guest', name: 'Grace' },
  id: 'dev_guest',
  scopes: new Set(['read'] as const),
}

it('a caller sees its own targets, an administrator sees all, and secrets are shown only once', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const { keys } = new Browser()
  const added = await targets.add(owner, hook)
  expect(added.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  await targets.add(guest, { kind: 'push', endpoint: 'https://push.example.org/send/secret', keys })
  const forOwner = await targets.list(owner)
  expect(forOwner.targets.map(({ kind, address }) => [kind, address])).toEqual([
    ['webhook', 'https://hooks.example.org/secret/path'],
    ['push', 'https://push.example.org'],
  ])
  expect(Buffer.from(forOwner.pushKey, 'base64url')).toHaveLength(65)
  expect(JSON.stringify(forOwner)).not.toMatch(/whsec|send\/secret|key=1/)
  const forGuest = await targets.list(guest)
  expect(forGuest.targets).toEqual([expect.objectContaining({ kind: 'push', current: true })])
})

it('nobody else can change, test or remove a target', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const { targetId } = await targets.add(owner, hook)
  const missing = { code: 'not_found' }
  await expect(targets.patch(guest, targetId, { name: 'mine' })).rejects.toMatchObject(missing)
  await expect(targets.test(guest, targetId)).rejects.toMatchObject(missing)
  await expect(targets.remove(guest, targetId)).rejects.toMatchObject(missing)
  await expect(targets.remove(owner, 'tgt_0')).rejects.toMatchObject(missing)
  await targets.remove(owner, targetId)
  expect((await targets.list(owner)).targets).toEqual([])
})

it('a browser cannot change, test or remove a target that a device with more rights has added', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const phone = { ...guest, person: owner.person, id: 'dev_phone' }
  const { targetId } = await targets.add(owner, hook)
  const forbidden = { code: 'forbidden' }
  expect((await targets.list(phone)).targets).toHaveLength(1)
  await expect(targets.patch(phone, targetId, { detail: 'full' })).rejects.toMatchObject(forbidden)
  await expect(targets.test(phone, targetId)).rejects.toMatchObject(forbidden)
  await expect(targets.remove(phone, targetId)).rejects.toMatchObject(forbidden)
  expect((await targets.list(owner)).targets).toMatchObject([{ detail: 'title' }])
})

it('webhooks and topics need the scope admin, and a browser can add only itself', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const forbidden = { code: 'forbidden' }
  const push = { kind: 'push', endpoint: 'https://push.example.org/x', keys: new Browser().keys } as const
  await expect(targets.add(guest, hook)).rejects.toMatchObject(forbidden)
  await expect(targets.add(guest, { kind: 'ntfy', url: 'https://ntfy.sh/x' })).rejects.toMatchObject(
    forbidden,
  )
  await expect(targets.add({ ...owner, kind: 'token' }, push)).rejects.toMatchObject(forbidden)
  await expect(targets.add({ ...owner, kind: 'embedded' }, hook)).rejects.toMatchObject(forbidden)
})

it.each([
  ['push', 'http://push.example.org/x'],
  ['push', 'https://127.0.0.1/x'],
  ['push', 'https://[::ffff:10.0.0.1]/x'],
  ['webhook', 'https://169.254.169.254/latest'],
  ['webhook', 'https://user:pw@example.org/'],
  ['ntfy', 'https://ntfy.sh/'],
  ['ntfy', 'javascript:alert(1)'],
] as const)('a %s target at %s is refused', async (kind, url) => {
  await using tested = await alertsUnderTest()
  const given = kind === 'push' ? { kind, endpoint: url, keys: new Browser().keys } : { kind, url }
  await expect(tested.targets.add(owner, given)).rejects.toMatchObject({ code: 'validation_error' })
})

it('a browser that subscribes again replaces its target, even for another person', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const push = { kind: 'push', endpoint: 'https://push.example.org/x', keys: new Browser().keys } as const
  await targets.add(owner, push)
  const { targetId } = await targets.add(guest, push)
  expect((await targets.list(owner)).targets).toEqual([
    expect.objectContaining({ targetId, personId: 'per_guest' }),
  ])
})

it('replacing the target of another browser needs more than the endpoint of its push subscription', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const endpoint = 'https://push.example.org/x'
  const push = () => ({ kind: 'push', endpoint, keys: new Browser().keys }) as const
  const { targetId } = await tested.add(push())
  await expect(targets.add(guest, push())).rejects.toMatchObject({ code: 'conflict' })
  expect((await targets.list(owner)).targets).toMatchObject([{ targetId, personId: 'per_owner' }])
  // The same browser may have new keys. The target of a signed-out browser may be replaced, because it is unused.
  await tested.add(push())
  tested.principals.delete(owner.id)
  await targets.add(guest, push())
  expect((await targets.list(owner)).targets).toMatchObject([{ personId: 'per_guest' }])
})

it('a target is not removed if the new one is refused', async () => {
  await using tested = await alertsUnderTest()
  const push = { kind: 'push', endpoint: 'https://push.example.org/x', keys: new Browser().keys } as const
  const other = { ...owner, person: { id: 'per_other', name: 'Eve' }, id: 'dev_other' }
  await tested.add(push)
  for (let n = 0; n < 20; n++) await tested.targets.add(other, { ...hook, name: `hook ${n}` })
  await expect(tested.targets.add(other, push)).rejects.toMatchObject({ code: 'conflict' })
  expect((await tested.targets.list(owner)).targets).toHaveLength(21)
})

it('a person can have at most twenty targets', async () => {
  await using tested = await alertsUnderTest()
  for (let n = 0; n < 20; n++) await tested.targets.add(owner, { ...hook, name: `hook ${n}` })
  await expect(tested.targets.add(owner, hook)).rejects.toMatchObject({ code: 'conflict' })
})

it('a test sends one signed message at once and returns the result, and tests are limited in number', async () => {
  let secret = ''
  await using receiver = await Receiver.webhook(() => secret)
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const added = await targets.add(owner, { kind: 'webhook', url: receiver.origin })
  secret = added.secret ?? ''
  expect(await targets.test(owner, added.targetId)).toMatchObject({ ok: true, status: 204 })
  receiver.replies = [{ status: 500 }]
  expect(await targets.test(owner, added.targetId)).toMatchObject({ ok: false, status: 500 })
  expect((await targets.list(owner)).targets[0]?.last).toMatchObject({
    ok: false,
    error: 'The target answered with status 500.',
  })
  expect(receiver.received.map(({ json }) => json.type)).toEqual(['test', 'test'])
  const rest = Array.from({ length: 12 }, () => targets.test(owner, added.targetId))
  const refused = (await Promise.allSettled(rest)).filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(4)
})

it('a target whose stored data is damaged is left out', async () => {
  await using tested = await alertsUnderTest()
  await tested.store.putTarget({ id: 'tgt_bad', data: { kind: 'webhook' }, createdAt: 1 })
  await tested.targets.add(owner, hook)
  expect((await tested.targets.list(owner)).targets).toHaveLength(1)
})

it('a changed target keeps its other fields, and can be enabled again', async () => {
  await using tested = await alertsUnderTest()
  const { targets } = tested
  const { targetId, secret: _, ...before } = await targets.add(owner, hook)
  const off = await targets.patch(owner, targetId, { disabled: true, detail: 'none' })
  expect(off).toMatchObject({ ...before, detail: 'none', disabledAt: expect.any(Number) })
  const on = await targets.patch(owner, targetId, { disabled: false, name: 'ops', alerts: ['turn.failed'] })
  expect(on).toEqual({ ...before, targetId, detail: 'none', name: 'ops', alerts: ['turn.failed'] })
})
