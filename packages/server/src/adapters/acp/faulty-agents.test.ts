import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, type BenchSession, childrenWith, onBench, type Turn } from '@parley/adapter-kit/testing'
import type { NewRule, PermissionMode } from '@parley/protocol'
import { describe, expect, it, vi } from 'vitest'
import { contractHost, hostOf } from '../../testing/contract-host.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { faultyAgent } from './faulty-adapter-under-test.ts'
import { alive } from './processes-under-test.ts'

/**
 * Tests agents with behaviour that a test cannot force on a real program. The agent is a small program of our
 * own, run as a process.
 */
const home = folderForFile()

const odd = () => faultyAgent({ home, more: { dialect: { planFile: '^Plan in (.+)$' } } })
const world = { adapter: () => odd(), host: contractHost }

type Played = { bench: Bench; session: BenchSession; turn: Turn }

type Setting = {
  mode?: PermissionMode
  rule?: NewRule
  files?: readonly string[]
  links?: Readonly<Record<string, string>>
}

async function play(
  words: string,
  work: (played: Played) => Promise<void>,
  { mode, rule, files = [], links = {} }: Setting = {},
): Promise<void> {
  await onBench(world, odd(), async (bench) => {
    if (rule) await hostOf(bench).addRule(rule)
    for (const name of files) writeFileSync(join(bench.folder, name), `this is ${name}`)
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(bench.folder, name))
    const session = await bench.session(mode ? { mode } : {})
    await work({ bench, session, turn: await session.prompt(words.replaceAll('FOLDER', bench.folder)) })
  })
  await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
}

it('a steered prompt that the agent does not accept begins the next turn', async () => {
  const steered = faultyAgent({
    home,
    more: { capabilities: ['streaming', 'steer'], dialect: { steering: '_session/steering' } },
  })
  await onBench({ adapter: () => steered, host: contractHost }, steered, async (bench) => {
    const session = await bench.session()
    const turn = await session.prompt('deaf')
    await turn.begun()
    const { promptId } = await session.prompt('To the left.', 'steer')
    await turn.completed()
    const next = await session.until(() => session.all('turn.started')[1])
    expect(next).toMatchObject({ promptId, cause: { by: 'steer' } })
    await session.until(() => session.all('turn.ended').find(({ turnId }) => turnId === next.turnId))
    expect(session.all('text.written').at(-1)).toMatchObject({ turnId: next.turnId, text: 'Done.' })
    expect(session.all('agent.noticed')).toEqual([])
  })
})

describe('an unknown message', () => {
  it.each([
    [
      'update',
      { method: 'session/update', params: { update: { sessionUpdate: 'hologram_update', image: 'x' } } },
    ],
    ['method', { method: '_odd/greeting', params: { words: 'hello' } }],
  ])('is recorded unchanged: %s', (words, native) =>
    play(words, async ({ session, turn }) => {
      await turn.completed()
      expect(session.all('agent.unrecognised')).toMatchObject([{ native }])
      expect(session.natives.length).toBeGreaterThan(0)
    }),
  )

  it('with unknown options is decided by a person', () =>
    play('choice', async ({ session, turn }) => {
      const { requestId, questions } = await turn.first(() => turn.all('question.asked')[0])
      expect(questions[0]?.options.map(({ label }) => label)).toEqual(['Approve gently', 'Approve harshly'])
      await session.command({ type: 'question.answer', requestId, answers: { 1: 'Approve harshly' } })
      await turn.completed()
      expect(turn.said).toContain('"optionId":"b"')
    }))

  it('with unknown options is refused without asking in a read-only session', () =>
    play(
      'choice',
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said).toContain('"outcome":"cancelled"')
        expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'mode' }])
      },
      { mode: 'read-only' },
    ))
})

describe('an agent that offers no option for a single use', () => {
  it.each(['ask', 'bypass'] as const)('needs a person to choose a permanent option, in mode %s', (mode) =>
    play(
      'always',
      async ({ session, turn }) => {
        const { requestId, questions } = await turn.first(() => turn.all('question.asked')[0])
        expect(questions).toMatchObject([
          {
            text: expect.stringContaining('no answer that allows this once'),
            options: [
              { label: 'Never' },
              { label: 'Always', description: expect.stringContaining('not ask') },
            ],
          },
        ])
        await session.command({ type: 'question.answer', requestId, answers: { 1: 'Always' } })
        await turn.completed()
        expect(turn.said).toContain('"optionId":"always"')
        expect(turn.all('permission.requested')).toEqual([])
      },
      { mode },
    ),
  )

  it('gets no permanent refusal if a rule refuses the call', () =>
    play(
      'always',
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said).toContain('"outcome":"cancelled"')
        expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'rule' }])
      },
      { rule: { tool: '*', decision: 'deny', scope: 'always' } },
    ))
})

describe('a plan in a file', () => {
  const shown = async ({ turn }: Played) => {
    const { input } = await turn.asked()
    await turn.completed()
    return input
  }

  it('is shown with its text', () =>
    play(
      'plan FOLDER/plan.md',
      async (played) => expect(await shown(played)).toMatchObject({ plan: 'this is plan.md' }),
      { files: ['plan.md'] },
    ))

  it('is shown without its text if the file is a pipe', () => {
    execFileSync('mkfifo', [join(home, 'pipe.md')])
    return play(`plan ${home}/pipe.md`, async (played) =>
      expect(await shown(played)).not.toHaveProperty('plan'),
    )
  })
})

it('asks a person to fill in a form, and responds with the values of the form', () =>
  play('form', async ({ session, turn }) => {
    const { requestId, questions } = await turn.first(() => turn.all('question.asked')[0])
    expect(questions.map(({ id }) => id)).toEqual(['name', 'sure'])
    await session.command({ type: 'question.answer', requestId, answers: { name: 'Ada', sure: 'Yes' } })
    await turn.completed()
    expect(turn.said).toContain('{"action":"accept","content":{"name":"Ada","sure":true}}')
  }))

it('drops a request that the agent withdraws', () =>
  play('withdraw', async ({ session, turn }) => {
    const { requestId } = await turn.asked()
    const question = await turn.first(() => turn.all('question.asked')[0])
    await session.command({ type: 'question.answer', requestId: question.requestId, answers: { 1: 'Yes' } })
    await turn.ended()
    expect(turn.all('permission.resolved')).toMatchObject([{ requestId, outcome: 'cancelled' }])
    expect(turn.said).toContain('"outcome":"cancelled"')
  }))

describe('files', () => {
  it('are written when the person allows it', () =>
    play('write FOLDER/new.txt', async ({ bench, turn }) => {
      const ask = await turn.asked()
      expect(ask).toMatchObject({ kind: 'edit', title: 'Write new.txt', diffs: [{ after: 'written\n' }] })
      expect(await bench.file('new.txt')).toBeUndefined()
      await turn.decide(ask, 'allow')
      await turn.completed()
      expect(await bench.file('new.txt')).toBe('written\n')
    }))

  it('are asked about again when the content differs from what was allowed', () =>
    play('edit FOLDER/new.txt', async ({ bench, turn }) => {
      const first = await turn.asked()
      expect(first).toMatchObject({ kind: 'edit', title: 'Edit it', diffs: [{ after: 'as shown\n' }] })
      await turn.decide(first, 'allow')
      const second = await turn.asked()
      expect(second).toMatchObject({
        title: 'Write new.txt',
        diffs: [{ patch: expect.stringContaining('not as') }],
      })
      expect(await bench.file('new.txt')).toBe('as shown\n')
      await turn.decide(second, 'deny')
      await turn.completed()
      expect(await bench.file('new.txt')).toBe('as shown\n')
      expect(turn.all('permission.requested')).toHaveLength(2)
    }))

  it.each(['accept-edits', 'bypass'] as const)('are written in mode %s, each recorded in the log', (mode) =>
    play(
      'edit FOLDER/new.txt',
      async ({ bench, turn }) => {
        await turn.completed()
        expect(await bench.file('new.txt')).toBe('not as shown\n')
        const allowed = { outcome: 'allowed', by: 'mode' }
        expect(turn.all('permission.resolved')).toMatchObject([allowed, allowed])
      },
      { mode },
    ),
  )

  const rule: NewRule = {
    tool: 'read_text_file',
    match: { path: '*/secret.txt' },
    decision: 'deny',
    scope: 'always',
  }
  it.each([
    ['secret.txt', false, [{ outcome: 'denied', by: 'rule' }]],
    ['other.txt', true, []],
  ] as const)('are read unless a rule refuses it, even with bypass: %s', (name, isRead, resolved) =>
    play(
      `read FOLDER/${name}`,
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said.includes(`this is ${name}`)).toBe(isRead)
        expect(turn.all('permission.resolved')).toMatchObject(resolved)
      },
      { mode: 'bypass', rule, files: [name] },
    ),
  )

  it('outside the folder are not written, even with bypass', () =>
    play(
      `write ${home}/outside.txt`,
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said).toContain('outside the folders')
        expect(existsSync(join(home, 'outside.txt'))).toBe(false)
      },
      { mode: 'bypass' },
    ))

  it('are not written in a read-only session', () =>
    play(
      'write FOLDER/new.txt',
      async ({ bench, turn }) => {
        await turn.completed()
        expect(await bench.file('new.txt')).toBeUndefined()
        expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'mode' }])
      },
      { mode: 'read-only' },
    ))
})

describe('files that the agent changes by itself', () => {
  const diff = (path: string) => ({ type: 'diff', path, oldText: null, newText: 'new' })
  const patch = (path: string) => `*** Begin Patch\n*** Add File: ${path}\n+new\n*** End Patch`
  const inside = 'FOLDER/a.txt'
  const change = (fields: object) => `change ${JSON.stringify(fields)}`

  it.each([
    { locations: [{ path: inside }] },
    { content: [diff(inside)] },
    { rawInput: { file_path: inside, old_string: '/etc/hosts', new_string: '../x' } },
    { rawInput: { path: 'a.txt' } },
    { rawInput: { patchText: patch('a.txt') } },
  ])('are changed without asking a person in mode accept-edits: %j', (fields) =>
    play(
      change(fields),
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said).toContain('"optionId":"yes"')
        expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'allowed', by: 'mode' }])
      },
      { mode: 'accept-edits' },
    ),
  )

  it.each([
    { locations: [{ path: inside }, { path: '/etc/hosts' }] },
    { locations: [{ path: 'FOLDER/../a.txt' }] },
    { locations: [{ path: inside }], content: [diff(inside), diff('/etc/hosts')] },
    { locations: [{ path: inside }], rawInput: { file_path: '/etc/hosts' } },
    { rawInput: { edits: [{ filePath: inside }, { filePath: '~/.bashrc' }] } },
    { rawInput: { paths: [inside, '../b.txt'] } },
    { rawInput: { changes: { '/etc/hosts': { type: 'add' } } } },
    { rawInput: { patchText: patch('/etc/hosts') } },
    { locations: [{ path: 'FOLDER/link.txt' }] },
    { rawInput: { content: 'new' } },
    {},
    { locations: [{ path: inside }, { path: 'FOLDER/.git/config' }] },
    { content: [diff(inside), diff('FOLDER/.MCP.json')] },
    { rawInput: { path: 'src/../.vscode/tasks.json' } },
    { rawInput: { path: 'a.txt', changes: { '.envrc': { type: 'add' } } } },
    { rawInput: { path: 'a.txt', patch: '--- a/a.txt\n+++ b/.git/config\n' } },
    { rawInput: { patchText: `${patch('a.txt')}\n${patch('.codex/config.toml')}` } },
  ])('need a person if they are outside, protected, or not named: %j', (fields) =>
    play(
      change(fields),
      async ({ turn }) => {
        const ask = await turn.asked()
        expect(ask).toMatchObject({ kind: 'edit', title: 'Change it' })
        await turn.decide(ask, 'deny')
        await turn.completed()
        expect(turn.said).toContain('"optionId":"no"')
      },
      { mode: 'accept-edits', links: { 'link.txt': '/etc/hosts' } },
    ),
  )
})

it('refuses terminal methods', () =>
  play('terminal', async ({ turn }) => {
    await turn.completed()
    expect(turn.said).toContain('-32601')
  }))

it('stops a turn in which the agent starts a denied call without asking', () =>
  play(
    'unasked',
    async ({ session, turn }) => {
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'mode' }])
      expect(session.all('agent.noticed')).toMatchObject([{ level: 'error', code: 'unasked' }])
    },
    { mode: 'read-only' },
  ))

it('restores the mode of an agent that switches to an unknown mode', () =>
  play('mode', async ({ session, turn }) => {
    await turn.completed()
    expect(session.all('agent.noticed')).toMatchObject([{ code: 'unknown-mode' }])
  }))

it('records lines that are not messages, and reports when it stops recording them', () =>
  play('garbage 500', async ({ session, turn }) => {
    await turn.completed()
    expect(session.all('agent.unrecognised')).toHaveLength(20)
    expect(session.all('agent.unrecognised')[0]?.native).toBe('this is line 0')
    expect(session.all('agent.noticed')).toMatchObject([{ code: 'garbage' }])
  }))

it('survives a flood on stderr and keeps the end of the output', () =>
  play('stderr 5000000', async ({ session, turn }) => {
    await turn.completed()
    const dying = await session.prompt('die')
    expect(await dying.ended()).toMatchObject({ outcome: 'failed' })
    expect(session.all('agent.disconnected')).toMatchObject([
      { reason: 'crashed', exitCode: 7, stderrTail: expect.stringContaining('the last words') },
    ])
  }))
