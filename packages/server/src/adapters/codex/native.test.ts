import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathWithNode } from '@parley/adapter-kit/find-program'
import { beforeAll, describe, expect, it } from 'vitest'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { ignored, ignoredItems, ignoredOfLater, refusedRequests } from './native.ts'
import { requestKinds } from './requests.ts'
import { handlers, translate } from './translate.ts'
import { itemKinds } from './translate-item.ts'
import { initialState } from './translate-state.ts'

/** The protocol types, as the real program generates them. */
const folder = folderForFile()
beforeAll(() => {
  const program = join(testAgentsFolder(), 'codex', 'node_modules', '.bin', 'codex')
  const env = { PATH: pathWithNode(process.env.PATH), HOME: folder, TMPDIR: join(folder, 'tmp') }
  execFileSync(program, ['app-server', 'generate-ts', '--experimental', '--out', folder], {
    env,
    stdio: 'ignore',
  })
})

function namesIn(file: string, field: string): string[] {
  const text = readFileSync(join(folder, `${file}.ts`), 'utf8')
  return [...text.matchAll(new RegExp(`"${field}": "([^"]+)"`, 'g'))].map(([, name = '']) => name).toSorted()
}

const names = (...lists: object[]) => lists.flatMap((list) => Object.keys(list)).toSorted()

describe('every name of the protocol is handled, or left out with a reason', () => {
  it('for notifications', () => {
    const known = namesIn('ServerNotification', 'method').filter((name) => !(name in ignoredOfLater))
    expect(names(handlers, ignored)).toEqual(known)
    expect(known).toHaveLength(87)
  })

  it('for requests', () => {
    const known = namesIn('ServerRequest', 'method')
    expect(names(requestKinds, refusedRequests)).toEqual(known)
    expect(known).toHaveLength(11)
  })

  it('for items', () => {
    const known = namesIn('v2/ThreadItem', 'type')
    expect(names(itemKinds, ignoredItems)).toEqual(known)
    expect(known).toHaveLength(19)
  })
})

it.each(Object.entries({ ...ignored, ...ignoredOfLater, ...ignoredItems, ...refusedRequests }))(
  'leaves out %s',
  (name, reason) => {
    expect(reason).toMatch(/\w+ \w+/)
    const state = initialState({ threadId: 'root' })
    const message =
      name in ignoredItems
        ? { method: 'item/completed', params: { threadId: 'root', item: { type: name, id: 'a' } } }
        : { method: name, params: {} }
    if (name in refusedRequests) return
    expect(translate(state, message).outputs).toEqual([])
  },
)

it('records an unknown notification', () => {
  const state = initialState({ threadId: 'root' })
  const strange = { method: 'thread/danced', params: { threadId: 'root' } }
  expect(translate(state, strange).outputs).toEqual([
    { type: 'agent.unrecognised', native: strange, reason: 'the notification thread/danced' },
  ])
  const item = { method: 'item/completed', params: { threadId: 'root', item: { type: 'dance', id: 'a' } } }
  expect(translate(state, item).outputs).toMatchObject([{ type: 'agent.unrecognised', native: item }])
  const broken = { method: 'turn/completed', params: null }
  expect(translate(state, broken).outputs).toMatchObject([{ type: 'agent.unrecognised', native: broken }])
})
