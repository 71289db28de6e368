import type { Actor } from '@parley/protocol'
import { expect, test } from 'vitest'
import { actorText, answererText, otherActorText } from './actor-text.logic.ts'

const ana = { id: 'per_ana', name: 'Ana' }
const chrome = { id: 'dev_1', name: 'Chrome on Linux' }
const atBrowser: Actor = { person: ana, device: chrome, via: 'websocket' }
const withToken: Actor = { person: ana, token: { id: 'tok_1', name: 'ci' }, via: 'http' }
const atMachine: Actor = { person: ana, token: { id: 'tok_machine', name: 'this machine' }, via: 'http' }

test('the text of an actor has the person, and the browser, token or link', () => {
  expect(actorText(atBrowser)).toBe('Ana · Chrome on Linux')
  expect(actorText(withToken)).toBe('Ana · token ci')
  expect(actorText(atMachine)).toBe('Ana · this machine')
  expect(actorText({ person: ana, via: 'library' })).toBe('Ana')
})

test('a decision with a link of the viewer is not attributed to the viewer', () => {
  const byLink: Actor = { person: ana, link: { id: 'lnk_1', name: 'link for Bo' }, via: 'http' }
  expect(actorText(byLink)).toBe('Ana · link for Bo')
  expect(answererText(byLink, { personId: 'per_ana', deviceId: 'dev_1' })).toBe('link for Bo, created by you')
  expect(answererText(byLink, { personId: 'per_bo' })).toBe('Ana · link for Bo')
  expect(otherActorText(byLink, { personId: 'per_ana' })).toBe('link for Bo')
})

test('hidden characters of a name are visible', () => {
  expect(actorText({ person: { id: 'p', name: 'A\u202Ena' }, via: 'library' })).not.toContain('\u202E')
})

test('people see no name on their own work, except on that of a named token', () => {
  const viewer = { personId: 'per_ana', deviceId: 'dev_2' }
  expect(otherActorText(atBrowser, viewer)).toBeUndefined()
  expect(otherActorText(atMachine, viewer)).toBeUndefined()
  expect(otherActorText(undefined, viewer)).toBeUndefined()
  expect(otherActorText(withToken, viewer)).toBe('token ci')
  expect(otherActorText(atBrowser, { personId: 'per_bo' })).toBe('Ana · Chrome on Linux')
  expect(otherActorText(atBrowser, {})).toBeUndefined()
})

test('the text of an answer names you, you in another browser, or another person', () => {
  expect(answererText(atBrowser, { personId: 'per_ana', deviceId: 'dev_1' })).toBe('you')
  expect(answererText(atBrowser, { personId: 'per_ana', deviceId: 'dev_2' })).toBe('you · Chrome on Linux')
  expect(answererText(atMachine, { personId: 'per_ana', deviceId: 'dev_2' })).toBe('you · this machine')
  expect(answererText(atBrowser, { personId: 'per_bo' })).toBe('Ana · Chrome on Linux')
  expect(answererText(undefined, { personId: 'per_bo' })).toBe('you')
  expect(answererText(atBrowser, {})).toBe('you')
})
