import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Block } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { memoryTranscript } from '../adapters/scripted/transcript.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from '../testing/invariants.ts'
import { killableStore } from '../testing/killable-store.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { SessionUnderTest } from './host-under-test.ts'
import {
  agent,
  read,
  repository,
  rewind,
  timeline,
  turn,
  unrewind,
  world,
  writes,
} from './rewind-files-under-test.ts'
import type { SessionFolder } from './session-folder.ts'

describe('a rewind of files', () => {
  it('restores what turns changed, leaves alone what a person changed since, and is undone exactly', async () => {
    await using test = await world()
    const { cwd } = test
    repository(cwd, { 'a.txt': 'a\n', 'b.txt': 'b\n', 'kept.txt': 'kept\n' })
    const head = readFileSync(join(cwd, '.git/HEAD'))
    const index = readFileSync(join(cwd, '.git/index'))
    mkdirSync(join(cwd, 'new'))
    const session = await test.create()
    const first = await turn(test, session, writes('a.txt', 'A\n'), writes('new/n.txt', 'n\n'))
    await turn(test, session, writes('b.txt', 'B\n'), writes('c.txt', 'C\n'))
    writeFileSync(join(cwd, 'b.txt'), 'mine\n')
    writeFileSync(join(cwd, 'kept.txt'), 'mine too\n')

    const preview = await test.host.previewRewind(session.id, first)
    expect(preview).toEqual({
      seen: expect.any(String),
      files: [
        { path: 'a.txt', action: 'change' },
        { path: 'b.txt', action: 'change', left: 'changed-since' },
        { path: 'c.txt', action: 'delete' },
        { path: 'new/n.txt', action: 'delete' },
      ],
      cut: false,
      leftOut: [],
    })
    expect(read(test, 'a.txt')).toBe('A\n')

    await session.command({ ...rewind, promptId: first })
    expect(['a.txt', 'b.txt', 'c.txt', 'new', 'kept.txt'].map((path) => existsSync(join(cwd, path)))).toEqual(
      [true, true, false, false, true],
    )
    expect([read(test, 'a.txt'), read(test, 'b.txt'), read(test, 'kept.txt')]).toEqual([
      'a\n',
      'mine\n',
      'mine too\n',
    ])
    const [rewound] = await session.events('session.rewound')
    const left = { count: 1, paths: [{ path: 'b.txt', reason: 'changed-since' }] }
    expect(rewound).toMatchObject({ promptId: first, files: { count: 3, left } })
    expect(rewound?.talk).toBeUndefined()
    expect((await timeline(session)).at(-1)).toMatchObject({
      type: 'notice',
      text: '3 files were restored to their state before the prompt. Left alone: b.txt (changed by somebody else).',
    })

    writeFileSync(join(cwd, 'c.txt'), 'by a person\n')
    await session.command(unrewind)
    expect([read(test, 'a.txt'), read(test, 'b.txt'), read(test, 'c.txt'), read(test, 'new/n.txt')]).toEqual([
      'A\n',
      'mine\n',
      'by a person\n',
      'n\n',
    ])
    expect((await session.events('session.unrewound'))[0]?.files).toMatchObject({
      count: 2,
      left: { count: 1, paths: [{ path: 'c.txt', reason: 'changed-since' }] },
    })
    await expect(session.command(unrewind)).rejects.toMatchObject({ code: 'conflict' })
    expect(readFileSync(join(cwd, '.git/HEAD'))).toEqual(head)
    expect(readFileSync(join(cwd, '.git/index'))).toEqual(index)
    expect(logProblems(await session.log())).toEqual([])
    expect(test.problems).toEqual([])
  })

  it('restores only the named files, even those that a person changed, but none that changed after the preview', async () => {
    await using test = await world()
    const session = await test.create()
    writeFileSync(join(test.cwd, 'a.txt'), 'a\n')
    const first = await turn(
      test,
      session,
      writes('a.txt', 'A\n'),
      writes('b.txt', 'B\n'),
      writes('c.txt', 'C\n'),
    )
    writeFileSync(join(test.cwd, 'a.txt'), 'mine\n')
    const { seen } = await test.host.previewRewind(session.id, first)
    writeFileSync(join(test.cwd, 'b.txt'), 'later\n')
    await session.command({ ...rewind, promptId: first, paths: ['a.txt', 'b.txt'], seen })
    expect([read(test, 'a.txt'), read(test, 'b.txt'), read(test, 'c.txt')]).toEqual(['a\n', 'later\n', 'C\n'])
    const [rewound] = await session.events('session.rewound')
    expect(rewound?.files).toMatchObject({
      count: 1,
      left: { paths: [{ path: 'b.txt', reason: 'changed-since' }] },
    })
    await session.command(unrewind)
    expect(read(test, 'a.txt')).toBe('mine\n')
    for (const path of ['d.txt', '../a.txt', '/etc/passwd', '.git/config'])
      await expect(session.command({ ...rewind, promptId: first, paths: [path] })).rejects.toMatchObject({
        code: 'validation_error',
      })
  })

  it('is combined with a rewind of the conversation, and both are undone together', async () => {
    await using test = await world()
    const session = await test.create()
    await turn(test, session, { type: 'text', text: 'one' })
    const second = await turn(test, session, writes('a.txt', 'A\n'))
    await session.command({ ...rewind, promptId: second, talk: true })
    expect(read(test, 'a.txt')).toBeUndefined()
    const takenBack = (block: Block) => block.takenBack !== undefined
    expect((await timeline(session)).filter(takenBack).map(({ type }) => type)).toContain('tool-call')
    await session.command(unrewind)
    expect(read(test, 'a.txt')).toBe('A\n')
    expect((await timeline(session)).filter(takenBack)).toEqual([])
    await session.command({ ...rewind, promptId: second, talk: true })
    await session.command({ type: 'prompt.submit', text: 'what did I say?' })
    await session.idle()
    expect((await session.texts()).at(-1)).not.toContain('a.txt')
    await expect(session.command(unrewind)).rejects.toMatchObject({ code: 'conflict' })
    expect(read(test, 'a.txt')).toBeUndefined()
  })

  it('counts an earlier rewind as a change by the session', async () => {
    await using test = await world()
    const session = await test.create()
    const first = await turn(test, session, writes('a.txt', '1\n'))
    const second = await turn(test, session, writes('a.txt', '2\n'))
    await session.command({ ...rewind, promptId: second })
    expect(read(test, 'a.txt')).toBe('1\n')
    await turn(test, session, writes('b.txt', 'b\n'))
    await session.command({ ...rewind, promptId: first })
    expect([read(test, 'a.txt'), read(test, 'b.txt')]).toEqual([undefined, undefined])
  })

  it('names the paths that it cannot restore: ignored files in the way, and files that no snapshot contains', async () => {
    await using test = await world()
    repository(test.cwd, { '.gitignore': '*.log\n', 'a.txt': 'a\n' })
    const session = await test.create()
    writeFileSync(join(test.cwd, 'mine'), 'file\n')
    const first = await turn(
      test,
      session,
      { ...writes('big.bin', 'x'.repeat(11 * 1024 * 1024)) },
      writes('a.txt', 'A\n'),
    )
    await turn(test, session, writes('x.log', 'log\n'))
    rmSync(join(test.cwd, 'mine'))
    mkdirSync(join(test.cwd, 'mine'))
    writeFileSync(join(test.cwd, 'mine/x.log'), 'kept\n')
    const { files, leftOut } = await test.host.previewRewind(session.id, first)
    expect(files).toEqual([{ path: 'a.txt', action: 'change' }])
    expect(leftOut).toEqual([{ path: 'big.bin', reason: 'large' }])
    await session.command({ ...rewind, promptId: first })
    expect([read(test, 'a.txt'), read(test, 'mine/x.log'), read(test, 'x.log')]).toEqual([
      'a\n',
      'kept\n',
      'log\n',
    ])
  })

  it('has one effect after a kill at any write, and a file that was written in part is completed', async () => {
    for (const isWritten of [true, false]) {
      for (let write = 0; write < 3; write++) {
        const [root, store, transcript] = [folderForTest(), createMemoryStore(), memoryTranscript()]
        const killable = killableStore(store)
        const options = { root, agent: { ...agent, transcript } }
        const test = await world({ ...options, store: killable.store })
        const { cwd } = test
        const session = await test.create()
        writeFileSync(join(cwd, 'a.txt'), 'a long text\n')
        const first = await turn(test, session, writes('a.txt', 'A\n'), writes('b.txt', 'B\n'))
        const command = { ...rewind, promptId: first, commandId: 'rewind', talk: true } as const
        killable.killAt(write, isWritten)
        void session.command(command).catch(() => undefined)
        await killable.killed
        const isStarted = (await store.load(session.id))?.state.restore !== undefined
        if (isStarted) writeFileSync(join(cwd, 'a.txt'), 'a lo')
        await using next = await world({ ...options, store })
        const again = new SessionUnderTest(() => next.host, session.id)
        await again.command(command)
        expect([read(test, 'a.txt'), read(test, 'b.txt')]).toEqual(['a long text\n', undefined])
        const [rewound, ...more] = await again.events('session.rewound')
        expect([rewound?.files?.count, more]).toEqual([2, []])
        await again.command(unrewind)
        expect([read(test, 'a.txt'), read(test, 'b.txt')]).toEqual(['A\n', 'B\n'])
      }
    }
  })

  it('is finished by a restart, before a prompt that was submitted meanwhile', async () => {
    const held = Promise.withResolvers<void>()
    const [root, store, transcript] = [folderForTest(), createMemoryStore(), memoryTranscript()]
    const killable = killableStore(store)
    const options = { root, agent: { ...agent, transcript } }
    const hold = (real: SessionFolder): SessionFolder => ({
      ...real,
      move: (...given) => held.promise.then(() => real.move(...given)),
    })
    const test = await world({ ...options, store: killable.store, wrap: hold })
    const session = await test.create()
    const first = await turn(test, session, writes('a.txt', 'A\n'))
    void session.command({ ...rewind, promptId: first }).catch(() => undefined)
    await session.when(({ restore }) => restore !== undefined)
    expect((await session.state()).status).toBe('working')
    await session.command({ type: 'prompt.submit', text: 'then this' })
    for (const command of [unrewind, { type: 'session.fork' } as const])
      await expect(session.command(command)).rejects.toMatchObject({ code: 'conflict' })
    expect((await session.state()).turn).toBeUndefined()
    killable.killAt(0, false)
    held.resolve()
    await killable.killed
    await using next = await world({ ...options, store })
    const again = new SessionUnderTest(() => next.host, session.id)
    await again.when(({ turns, turn: open }) => turns === 2 && !open)
    expect(read(test, 'a.txt')).toBeUndefined()
    const order = (await again.log()).map(({ type }) => type)
    expect(order.indexOf('session.rewound')).toBeLessThan(order.lastIndexOf('turn.started'))
  })

  it('treats turns that a fork has copied as turns of another session', async () => {
    await using test = await world()
    const session = await test.create()
    const first = await turn(test, session, writes('a.txt', 'A\n'))
    const { sessionId = '' } = await session.command({ type: 'session.fork' })
    const fork = new SessionUnderTest(() => test.host, sessionId)
    expect((await test.host.previewRewind(fork.id, first)).files).toEqual([
      { path: 'a.txt', action: 'delete' },
    ])
    await turn(test, session, writes('a.txt', 'AA\n'))
    expect((await test.host.previewRewind(fork.id, first)).files).toEqual([
      { path: 'a.txt', action: 'delete', left: 'changed-since' },
    ])
    expect((await test.host.previewRewind(session.id, first)).files).toEqual([
      { path: 'a.txt', action: 'delete' },
    ])
  })
})
