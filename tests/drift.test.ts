import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForFile } from '../packages/server/src/testing/temporary-folder.ts'
import { testedAgentFiles } from '../scripts/drift/agent-files.ts'
import { type CaseResult, casesIn } from '../scripts/drift/cases.ts'
import { typesOfSdk } from '../scripts/drift/declared-types.ts'
import { examine, type Release, type Steps, type TestedAgent } from '../scripts/drift/examine.ts'
import { exitCodes, reportOf, reportText } from '../scripts/drift/report.ts'
import { compareShapes, messagesIn, shapesOf } from '../scripts/drift/shapes.ts'

const root = resolve(import.meta.dirname, '..')
const folder = folderForFile()
const agent: TestedAgent = { id: 'tiny', package: 'tiny-agent', version: '1.0.0' }

/** What each release of a recorded program sends, by scenario. */
const transcripts: Record<string, Record<string, readonly object[]>> = {
  '1.0.0': {
    hello: [
      { type: 'said', text: 'Hello.', words: ['Hello'], by: { name: 'model', tier: 'free' } },
      { type: 'ended', cost: 0.1, reason: null },
    ],
    call: [
      { type: 'called', tool: { type: 'shell', line: 'ls' } },
      { type: 'ended', cost: 0.1 },
    ],
  },
  '1.1.0': {
    hello: [
      { type: 'thought', about: 'Hello.' },
      { type: 'said', words: ['Hello'], by: { name: 'model' }, safety: { level: 'low', by: 'x' } },
      { type: 'ended', cost: '0.10', reason: 'done' },
    ],
    call: [
      { type: 'called', tool: { type: 'sandbox', image: 'node' } },
      { type: 'ended', cost: '0.10' },
    ],
  },
}

/** The steps of an examination of this program, which is started for each scenario. `newest` is its newest release. */
function stepsWith(newest: string) {
  const said: string[] = []
  let replays = newest === '1.1.0' ? 0 : 1
  const release = async (_: TestedAgent, version = agent.version): Promise<Release> => {
    said.push(`install ${version}`)
    const agentsFolder = join(folder, version)
    mkdirSync(agentsFolder, { recursive: true })
    const lines = JSON.stringify(transcripts[version])
    writeFileSync(
      join(agentsFolder, 'tiny.mjs'),
      `for (const line of ${lines}[process.argv[2]]) console.log(JSON.stringify(line))`,
    )
    return { version, agentsFolder }
  }
  const run = ({ agentsFolder }: Release, scenario: string): unknown[] => {
    const out = execFileSync(process.execPath, [join(agentsFolder, 'tiny.mjs'), scenario], {
      encoding: 'utf8',
    })
    return out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
  const steps: Steps = {
    say: (line) => void said.push(line),
    resolve: async (_, wanted) => (wanted === 'latest' ? newest : wanted),
    tested: release,
    install: release,
    declared: async (_, { version }) =>
      version === '1.0.0' ? ['said', 'ended'] : ['said', 'ended', 'dreamt'],
    async contract(_, one): Promise<CaseResult[]> {
      const hello = JSON.stringify(run(one, 'hello'))
      return [
        { name: 'streams text', ...(!hello.includes('"text"') && { failure: 'expected a text' }) },
        { name: 'always fails', failure: 'as before' },
        { name: 'ends' },
      ]
    },
    stored: () => new Map([['hello', transcripts['1.0.0']?.hello?.slice(0, 1) ?? []]]),
    async record(_, one, again) {
      const scenarios = again?.scenarios ?? ['hello', 'call']
      if (again) said.push(`record ${scenarios.join(' and ')} again`)
      const recording = new Map(again?.recorded.recording)
      for (const name of scenarios) recording.set(name, run(one, name))
      return { recording, cases: scenarios.map((name) => ({ name })), folder }
    },
    async replay(_, { recording }) {
      const hello = JSON.stringify(recording.get('hello'))
      return [
        {
          name: 'the recording hello has its text',
          ...(!hello.includes('"text"') && { failure: 'no text' }),
        },
        { name: 'the recording call is in order', ...(replays++ === 0 && { failure: 'out of order' }) },
      ]
    },
  }
  return { steps, said }
}

const about = { at: 1, parley: '0.1.0', node: 'v24', platform: 'linux' }

describe('the examination of a release', () => {
  it('finds a new type, a vanished field and a failing case, and reports them to people and programs', async () => {
    const { steps, said } = stepsWith('1.1.0')
    const found = await examine(agent, 'latest', steps)
    expect(said).toContain('record hello and call again')
    expect(found).toEqual({
      agent: 'tiny',
      package: 'tiny-agent',
      tested: '1.0.0',
      examined: '1.1.0',
      status: 'drift',
      cases: 5,
      scenarios: 2,
      changes: [
        { kind: 'type-declared', type: 'dreamt' },
        { kind: 'case-fails', suite: 'contract', name: 'streams text', failure: 'expected a text' },
        { kind: 'field-vanished', type: 'called', path: 'tool<shell>' },
        { kind: 'field-vanished', type: 'said', path: 'by.tier' },
        { kind: 'field-vanished', type: 'said', path: 'text' },
        { kind: 'field-appeared', type: 'called', path: 'tool<sandbox>' },
        { kind: 'field-changed', type: 'ended', path: 'cost', before: ['number'], after: ['string'] },
        { kind: 'field-appeared', type: 'said', path: 'safety' },
        { kind: 'type-appeared', type: 'thought', scenarios: ['hello'] },
        {
          kind: 'case-fails',
          suite: 'recordings',
          name: 'the recording hello has its text',
          failure: 'no text',
        },
      ],
    })
    const report = reportOf([found], about)
    expect([report.schema, exitCodes[report.result]]).toEqual([1, 1])
    expect(JSON.parse(JSON.stringify(report))).toEqual(report)
    const text = reportText(report)
    expect(text).toMatch(/^agent +tested +examined +result\ntiny +1\.0\.0 +1\.1\.0 +failing cases: 2, /)
    expect(text).toContain('\n    contract: streams text\n      expected a text\n')
    expect(text).toContain('\n    thought  (in hello)\n')
    expect(text).toContain('\n    ended  cost: number → string\n')
  })

  it('finds no drift in the tested release, nor in a release that sends the same messages', async () => {
    const same = stepsWith('1.0.0')
    expect(await examine(agent, 'latest', same.steps)).toMatchObject({ status: 'same', changes: [] })
    expect(same.said.some((line) => line.startsWith('install'))).toBe(false)
    transcripts['1.0.1'] = transcripts['1.0.0'] ?? {}
    const { steps } = stepsWith('1.0.1')
    const found = await examine(agent, 'latest', { ...steps, declared: async () => [] })
    expect(found).toMatchObject({ status: 'no-drift', changes: [] })
    expect(exitCodes[reportOf([found], about).result]).toBe(0)
    expect(reportText(reportOf([found], about))).toContain('no change (5 cases, 2 scenarios)')
  })

  it('reports a release that cannot be installed, with an exit code of its own and without hidden characters', async () => {
    const { steps } = stepsWith('1.1.0')
    const install = () => Promise.reject(new Error('no \u001b[2Jspace\nis left'))
    const failed = await examine(agent, 'latest', { ...steps, install })
    const drifted = await examine(agent, '1.1.0', steps)
    const report = reportOf([failed, drifted], about)
    expect(exitCodes[report.result]).toBe(2)
    expect(reportText(report)).toMatch(/^tiny +1\.0\.0 +1\.1\.0 +not examined: no ␛\[2Jspace$/m)
  })
})

describe('the shapes of messages', () => {
  it('contain the messages of the agent, not those of Parley or of the recorder', () => {
    const frame = (from: string, message: object) => ({ from, message })
    const lines = [
      { type: 'parley.turn', at: 1 },
      { sent: 'interrupt' },
      { type: 'system', subtype: 'init' },
      frame('host', { id: 1, method: 'session/new', params: {} }),
      frame('agent', { id: 1, result: { sessionId: 's' } }),
      frame('agent', { id: 7, method: 'session/request_permission', params: {} }),
      frame('host', { id: 7, result: {} }),
      'garbage',
    ]
    expect(messagesIn(lines).map(({ type }) => type)).toEqual([
      'system/init',
      'answer of session/new',
      'session/request_permission',
    ])
  })

  it('do not depend on keys that are ids, on the order of messages, or on values that are null', () => {
    const shape = (...lines: object[]) => shapesOf(new Map([['one', lines]]))
    const first = { type: 'a', files: { '/tmp/a.txt': { size: 1 } }, error: null }
    const other = { type: 'a', files: { '/tmp/b.txt': { size: 2 } }, error: 'none' }
    expect(compareShapes(shape(first, { type: 'b' }), shape({ type: 'b' }, other))).toEqual([])
  })
})

it('the results of vitest are read, with a file that cannot be loaded and without colours and stacks', () => {
  const failureMessages = ['\u001b[31mAssertionError\u001b[39m: expected 1 to be 2\n    at file.ts:1:1']
  const assertionResults = [
    { fullName: ' runs', status: 'passed' },
    { fullName: 'fails', status: 'failed', failureMessages },
    { fullName: 'later', status: 'pending' },
  ]
  const broken = { name: 'b.test.ts', message: 'no such module', assertionResults: [] }
  expect(casesIn({ testResults: [{ name: 'a.test.ts', assertionResults }, broken] })).toEqual([
    { name: 'runs' },
    { name: 'fails', failure: 'AssertionError: expected 1 to be 2' },
    { name: 'b.test.ts', failure: 'no such module' },
  ])
})

it('the declared types of the Agent SDK are read from its declarations', () => {
  const file = join(root, 'node_modules/@anthropic-ai/claude-agent-sdk/sdk.d.ts')
  expect(typesOfSdk(readFileSync(file, 'utf8'))).toEqual(
    expect.arrayContaining(['assistant', 'stream_event', 'system/init', 'result/success']),
  )
})

it('every agent with a contract suite can be examined, and the command names them', () => {
  const agents = [...testedAgentFiles().keys()]
  expect(agents).toEqual(expect.arrayContaining(['claude', 'codex', 'opencode', 'gemini', 'claude-acp']))
  const args = ['--conditions=source', 'scripts/drift.ts', '--agent', 'nope']
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect(status).toBe(2)
  expect(stderr).toMatch(
    /^There is no agent "nope"\. Agents: claude, codex, .*\n\nnpm run drift -- \[options\]/,
  )
})
