import { routes } from '@parley/protocol'
import { expect, it } from 'vitest'
import { recordRequest } from './recorded-routes.ts'

it('the ledger records sign-ins with a code and with an OpenID provider, without their secrets', async () => {
  const drafts: unknown[] = []
  const host = { recordInLedger: async (draft: unknown) => void drafts.push(draft) }
  const reply = { deviceId: 'dev_1', name: 'Phone', personId: 'per_1', scopes: ['read'] }
  const body = { publicKey: 'key', code: 'code', secret: 'secret', state: 'state', answer: 'code=x' }
  for (const route of [routes.createDevice, routes.finishOidc]) {
    const handled = { params: undefined, query: undefined, body, reply }
    await recordRequest(host, route, handled, { actor: undefined, address: '127.0.0.1' })
  }
  const data = { name: 'Phone', personId: 'per_1', scopes: ['read'], publicKey: 'key' }
  const added = { kind: 'device.added', subject: 'dev_1', address: '127.0.0.1', data }
  expect(drafts).toEqual([added, added])
})

it('the ledger records the names of the variables of a new session, and nothing about a session without variables', async () => {
  const drafts: unknown[] = []
  const host = { recordInLedger: async (draft: unknown) => void drafts.push(draft) }
  for (const env of [{ TOKEN: 'secret' }, {}, undefined]) {
    const handled = { params: undefined, query: undefined, body: { agent: 'a', env }, reply: { id: 'ses_1' } }
    await recordRequest(host, routes.createSession, handled, { actor: undefined, address: undefined })
  }
  expect(drafts).toEqual([{ kind: 'environment.changed', subject: 'ses_1', data: { names: ['TOKEN'] } }])
})

it('the ledger records changes of a project with its path and the new settings', async () => {
  const drafts: unknown[] = []
  const host = { recordInLedger: async (draft: unknown) => void drafts.push(draft) }
  const body = { name: 'Shop', check: 'npm test', setup: null }
  const reply = { project: '/code/shop/.git', place: 'machine:a', name: 'Shop' }
  const handled = { params: { id: 'prj_x' }, query: undefined, body, reply }
  await recordRequest(host, routes.patchProject, handled, { actor: undefined, address: undefined })
  const data = { ...body, place: 'machine:a' }
  expect(drafts).toEqual([{ kind: 'project.changed', subject: '/code/shop/.git', data }])
})
