import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SessionEvent } from '@parley/protocol'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { keysOf } from '../../packages/server/src/proof/keys.ts'
import { verifyLog } from '../../packages/server/src/proof/verify-log.ts'
import { consoleFixture } from './console-fixture.ts'
import { allowOnce, card, eventually, panel, shows } from './console-page.ts'

/**
 * Tests that the browser signs answers, that an answer which cannot be signed is sent without a signature, and that the
 * event log shows whether the log was changed.
 */
const { server, browser, openSessionTab } = consoleFixture()

async function resolutionOf(id: string): Promise<SessionEvent | undefined> {
  const path = `/api/sessions/${id}/events?limit=1000`
  const { events } = await server.call<{ events: SessionEvent[] }>(path)
  return events.find(({ type }) => type === 'permission.resolved' || type === 'question.resolved')
}

/** The result of `parley verify` for an export with a proof. */
async function verified(id: string) {
  const answer = await fetch(`${server.url}/api/sessions/${id}/export?proof=true`, {
    headers: { authorization: `Bearer ${server.token}` },
  })
  const lines = (await answer.text()).trimEnd().split('\n')
  const proof = JSON.parse(lines.pop() ?? '') as Record<'keys' | 'devices', { publicKey: string }[]>
  const keys = (list: { publicKey: string }[]) => keysOf(list.map(({ publicKey }) => publicKey))
  return verifyLog(lines, keys(proof.keys), { deviceKeys: keys(proof.devices) })
}

async function answerQuestion(page: Page): Promise<void> {
  await card(page).getByText('SQLite').click()
  await card(page).getByLabel('Tests').check()
  await card(page).getByRole('button', { name: 'Answer' }).click()
}

it('a decision and an answer in the console are signed by the browser, and verify accepts their signatures', async () => {
  for (const [words, give, next, type] of [
    ['show a permission', (page: Page) => allowOnce(page).click(), /Thank you/, 'permission.resolved'],
    [
      'show a permission',
      (page: Page) => card(page).getByRole('button', { name: 'Deny 3' }).click(),
      /I leave it alone/,
      'permission.resolved',
    ],
    ['ask me', answerQuestion, /With that I could start/, 'question.resolved'],
  ] as const) {
    const id = await server.session(words)
    const { page } = await openSessionTab(id)
    await card(page).waitFor()
    await give(page)
    await shows(page, next)
    const signature = { keyId: expect.any(String), commandId: expect.any(String), value: expect.any(String) }
    expect(await resolutionOf(id)).toMatchObject({ type, by: 'person', signature })
    await eventually(() => verified(id)).toMatchObject({ findings: [], signedAnswers: 1 })
  }
})

it('a browser that signed in with the link in the console signs its answers', async () => {
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(await server.newLink())
  await page.getByRole('combobox', { name: 'Prompt' }).waitFor()
  const id = await server.session('show a permission')
  await page.goto(`${server.url}/sessions/${id}`)
  await allowOnce(page).click()
  await shows(page, /Thank you/)
  expect(await resolutionOf(id)).toHaveProperty('signature')
  expect(await verified(id)).toMatchObject({ findings: [], signedAnswers: 1 })
})

type ChangedDevice = 'another key' | 'no key id'

/** Changes the key that this browser stored at its sign-in. Runs in the page. */
async function changeDevice(how: ChangedDevice): Promise<void> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open('parley-device', 1)
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = () => reject(opening.error)
  })
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const other = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
  await new Promise<void>((resolve, reject) => {
    const writing = database.transaction('devices', 'readwrite')
    const devices = writing.objectStore('devices')
    const reading = devices.get('this')
    reading.onsuccess = () => {
      const { deviceId, key, keyId } = reading.result
      const changed = how === 'no key id' ? { deviceId, key } : { deviceId, key: other.privateKey, keyId }
      devices.put(changed, 'this')
    }
    writing.oncomplete = () => resolve()
    writing.onabort = () => reject(writing.error)
  })
  database.close()
}

it('an answer of a browser with another key is sent without a signature', async () => {
  const id = await server.session('show a permission')
  const { page } = await openSessionTab(id)
  await card(page).waitFor()
  await page.evaluate<void, ChangedDevice>(changeDevice, 'another key')
  await allowOnce(page).click()
  await shows(page, /Thank you/)
  const resolved = await resolutionOf(id)
  expect(resolved).toMatchObject({ type: 'permission.resolved', outcome: 'allowed', by: 'person' })
  expect(resolved).not.toHaveProperty('signature')
})

it('a browser that was signed in before keys had ids signs its answers after its next access token', async () => {
  const id = await server.session('show a permission')
  const { page } = await openSessionTab(id)
  await card(page).waitFor()
  await page.evaluate<void, ChangedDevice>(changeDevice, 'no key id')
  await page.reload()
  await allowOnce(page).click()
  await shows(page, /Thank you/)
  expect(await resolutionOf(id)).toHaveProperty('signature')
  expect(await verified(id)).toMatchObject({ findings: [], signedAnswers: 1 })
})

it('the event log says which event was changed in the database', async () => {
  const id = await server.session('help')
  const { page } = await openSessionTab(id)
  await shows(page, /I follow a script/)
  await page.getByTestId('working').waitFor({ state: 'detached' })
  // The export seals the whole log.
  expect(await verified(id)).toMatchObject({ findings: [] })
  const openLog = async () => {
    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Event log' }).click()
    return panel(page, 'Event log').getByRole('status')
  }
  const status = await openLog()
  await status.getByText(/^Verified to event \d+\.$/).waitFor()
  await page.getByRole('button', { name: 'Close panel' }).click()
  await server.kill()
  const database = new DatabaseSync(join(server.folder, 'data', 'parley.sqlite'))
  const change = database.prepare(
    `UPDATE events SET body = replace(body, '"help"', '"hulp"') WHERE body LIKE ?`,
  )
  expect(change.run('%"type":"prompt.submitted"%"help"%').changes).toBe(1)
  database.close()
  await server.start()
  await openLog()
  await status.getByText(/^The verification failed\. Event \d+: .* was changed\./).waitFor()
})
