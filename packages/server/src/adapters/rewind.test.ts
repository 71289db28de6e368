import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createRewindKeeper, rewindRequest, rewindTurn } from './rewind.ts'

let home: string
let cwd: string
beforeEach(() => {
  home = folderForTest()
  cwd = join(home, 'project')
  mkdirSync(cwd)
})

const at = (path: string) => join(cwd, path)
const session = () => ({ sessionId: 'ses_1', cwd, settings: {} })
const promptId = 'prm_1'

describe('a rewind', () => {
  it('can be undone for changed, removed and restored files', async () => {
    writeFileSync(at('changed.txt'), 'new')
    mkdirSync(at('deep'))
    writeFileSync(at('deep/made.sh'), 'made')
    chmodSync(at('deep/made.sh'), 0o755)
    const files = ['changed.txt', 'deep/made.sh', 'back.txt'].map(at)
    const keeper = createRewindKeeper()
    await keeper.rewind(session(), { promptId, files }, async () => {
      writeFileSync(at('changed.txt'), 'old')
      rmSync(at('deep'), { recursive: true })
      writeFileSync(at('back.txt'), 'deleted once')
    })
    expect(await keeper.undo('ses_1', promptId)).toEqual(files)
    expect(readFileSync(at('changed.txt'), 'utf8')).toBe('new')
    expect(readFileSync(at('deep/made.sh'), 'utf8')).toBe('made')
    expect(statSync(at('deep/made.sh')).mode & 0o777).toBe(0o755)
    expect(existsSync(at('back.txt'))).toBe(false)
    await expect(keeper.undo('ses_1', promptId)).rejects.toThrow('no longer known')
  })

  it.each(['a.txt', 'b.txt'])('is not undone at all if %s has changed since', async (changed) => {
    const files = ['a.txt', 'b.txt'].map(at)
    for (const file of files) writeFileSync(file, 'new')
    const keeper = createRewindKeeper()
    await keeper.rewind(session(), { promptId, files }, async () => {
      for (const file of files) writeFileSync(file, 'old')
    })
    writeFileSync(at(changed), 'newest')
    await expect(keeper.undo('ses_1', promptId)).rejects.toThrow(`${changed} has changed since`)
    expect(files.map((file) => readFileSync(file, 'utf8')).sort()).toEqual(['newest', 'old'])
  })

  it('is undone only for its own session and prompt', async () => {
    const keeper = createRewindKeeper()
    await keeper.rewind(session(), { promptId, files: [] }, async () => undefined)
    await expect(keeper.undo('ses_2', promptId)).rejects.toThrow()
    await expect(keeper.undo('ses_1', 'prm_2')).rejects.toThrow()
  })

  it('that reaches outside the folder, even through a link, is performed but cannot be undone', async () => {
    writeFileSync(join(home, 'outside.txt'), 'secret')
    symlinkSync(join(home, 'outside.txt'), at('link.txt'))
    const keeper = createRewindKeeper()
    let isMade = false
    await keeper.rewind(session(), { promptId, files: [at('link.txt')] }, async () => {
      isMade = true
    })
    expect(isMade).toBe(true)
    await expect(keeper.undo('ses_1', promptId)).rejects.toThrow('no longer known')
  })

  it('is not undone through a link that replaced a folder', async () => {
    mkdirSync(at('dir'))
    writeFileSync(at('dir/a.txt'), 'new')
    const keeper = createRewindKeeper()
    await keeper.rewind(session(), { promptId, files: [at('dir/a.txt')] }, async () => {
      rmSync(at('dir'), { recursive: true })
    })
    symlinkSync(home, at('dir'))
    await expect(keeper.undo('ses_1', promptId)).rejects.toThrow('has changed since')
    expect(existsSync(join(home, 'a.txt'))).toBe(false)
  })
})

it('a rewind is requested by one command, and its turn reports the outcome', async () => {
  const part = (words: string) => ({ type: 'command' as const, name: 'rewind', arguments: words })
  expect(rewindRequest([part('prm_1')])).toEqual({ promptId: 'prm_1', undo: false })
  expect(rewindRequest([part('undo prm_1')])).toEqual({ promptId: 'prm_1', undo: true })
  expect(rewindRequest([part('prm_1'), { type: 'text', text: 'and more' }])).toBeUndefined()
  const request = { promptId, undo: false }
  expect(await rewindTurn(request, async () => ['/a'])).toMatchObject({ stopReason: 'rewound' })
  const failed = await rewindTurn({ ...request, undo: true }, () => Promise.reject(new Error('why')))
  expect(failed).toMatchObject({ outcome: 'failed', stopReason: 'not_undone', error: { code: 'conflict' } })
})
