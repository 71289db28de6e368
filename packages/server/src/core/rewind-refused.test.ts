import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { hostUnderTest } from './host-under-test.ts'
import { agent, read, rewind, snapshots, timeline, turn, world, writes } from './rewind-files-under-test.ts'
import type { SessionFolder } from './session-folder.ts'

describe('a rewind of files is refused', () => {
  it('while a turn is open, here or in another session of the folder, and if there is nothing to rewind', async () => {
    await using test = await world()
    const session = await test.create()
    const promptId = await turn(test, session, writes('a.txt', 'A\n'))
    await expect(session.command({ ...rewind, promptId, files: false })).rejects.toMatchObject({
      code: 'validation_error',
    })
    const other = await test.create()
    await other.submit({ type: 'wait', gate: 'other' }, writes('b.txt', 'b\n'))
    await other.when(({ turn: open }) => open !== undefined)
    await expect(session.command({ ...rewind, promptId })).rejects.toMatchObject({
      code: 'conflict',
      details: { inUse: true },
    })
    expect(await test.host.previewRewind(session.id, promptId)).toMatchObject({ inUse: true })
    test.gates.open('other')
    await other.idle()
    await snapshots(other, 2)
    await session.submit({ type: 'hang' })
    await expect(session.command({ ...rewind, promptId })).rejects.toThrow(/A turn is open/)
    await expect(test.host.previewRewind(session.id, promptId)).rejects.toThrow(/A turn is open/)
    expect(read(test, 'a.txt')).toBe('A\n')
  })

  it('for files that are not named, if another session had a turn at the same time', async () => {
    await using test = await world()
    const [session, other] = [await test.create(), await test.create()]
    const started = turn(test, session, { type: 'wait', gate: 'both' }, writes('a.txt', 'A\n'))
    await snapshots(session, 1)
    await turn(test, other, writes('b.txt', 'b\n'))
    test.gates.open('both')
    const promptId = await started
    const files = ['a.txt', 'b.txt'].map((path) => ({ path, action: 'delete', left: 'unclear' }))
    expect((await test.host.previewRewind(session.id, promptId)).files).toEqual(files)
    await session.command({ ...rewind, promptId, paths: ['a.txt'] })
    expect([read(test, 'a.txt'), read(test, 'b.txt')]).toEqual([undefined, 'b\n'])
  })

  it('without a snapshot before the prompt, with a lost snapshot, without the folder, and on a server without snapshots', async () => {
    const root = folderForTest()
    let isFailing = true
    const snapshot =
      (real: SessionFolder): SessionFolder['snapshot'] =>
      (...given) =>
        isFailing ? Promise.reject(new Error('broken')) : real.snapshot(...given)
    await using test = await world({ root, wrap: (real) => ({ ...real, snapshot: snapshot(real) }) })
    const session = await test.create()
    const missed = await session.submit(writes('a.txt', 'A\n'))
    await session.idle()
    isFailing = false
    const promptId = await turn(test, session, writes('b.txt', 'B\n'))
    const missing = { code: 'conflict', details: { missing: 'snapshot' } }
    await expect(session.command({ ...rewind, promptId: missed })).rejects.toMatchObject(missing)
    await expect(session.command({ ...rewind, promptId: 'prm_none' })).rejects.toMatchObject({
      code: 'not_found',
    })
    rmSync(root, { recursive: true })
    await expect(session.command({ ...rewind, promptId })).rejects.toMatchObject({
      code: 'not_found',
      details: { missing: 'snapshot' },
    })
    rmSync(test.cwd, { recursive: true })
    await expect(session.command({ ...rewind, promptId })).rejects.toMatchObject({
      code: 'conflict',
      details: { missing: 'folder' },
    })
    await using without = await hostUnderTest({ agent })
    const plain = await without.create()
    const said = await plain.submit({ type: 'text', text: 'x' })
    await plain.idle()
    await expect(plain.command({ ...rewind, promptId: said })).rejects.toMatchObject({
      code: 'not_supported',
    })
  })

  it('if no file can be written, and then the conversation is not rewound either', async () => {
    const broken = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    const wrap = (real: SessionFolder): SessionFolder => ({ ...real, move: () => Promise.reject(broken) })
    await using test = await world({ wrap })
    const session = await test.create()
    const promptId = await turn(test, session, writes('a.txt', 'A\n'))
    const command = { ...rewind, promptId, talk: true, commandId: 'once' } as const
    await expect(session.command(command)).rejects.toMatchObject({ code: 'internal_error' })
    await expect(session.command(command)).rejects.toMatchObject({ code: 'internal_error' })
    expect(await session.events('restore.failed')).toHaveLength(1)
    expect(await session.events('session.rewound')).toEqual([])
    expect((await timeline(session)).at(-1)).toMatchObject({
      type: 'notice',
      level: 'error',
      code: 'restore_failed',
    })
    expect(test.problems).toEqual([expect.stringContaining('restore files')])
    expect((await session.state()).status).toBe('idle')
    await session.play({ type: 'text', text: 'goes on' })
  })
})
