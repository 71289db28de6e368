import { expect, it } from 'vitest'
import type { AccessRecord } from '../core/access-store.ts'
import { type StoreSettings, settingsAt, settingsOf } from './copy-store.ts'

const token = (folders: readonly object[]): AccessRecord => ({
  kind: 'token',
  id: 'tok_1',
  data: { name: 'CI', scopes: ['read'], limits: { folders, agents: ['demo'] } },
  createdAt: 1,
})
const only = (access: AccessRecord): StoreSettings =>
  ({ rules: [], folders: [], environments: [], access: [access], targets: [], projects: [] }) as StoreSettings

it('limits to folders get the place of the machine in a database with places, and lose it when they are copied back', () => {
  const plain = only(token([{ folder: '/srv' }]))
  const placed = settingsAt('machine:desk', plain)
  expect(placed.access).toEqual([token([{ folder: '/srv', place: 'machine:desk' }])])
  expect(settingsOf('machine:desk', placed)).toEqual(plain)
})

it('a limit to a folder of another machine is not removed with the place', () => {
  const elsewhere = only(token([{ folder: '/srv', place: 'machine:far' }]))
  expect(settingsOf('machine:desk', elsewhere)).toEqual(elsewhere)
})
