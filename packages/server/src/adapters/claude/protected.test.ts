import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionMode, SessionEvent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { SessionsByMode } from './sessions-by-mode-under-test.ts'

/** A home whose Claude Code settings allow all edits. */
const home = await AgentHome.forFile()
mkdirSync(join(home.path, '.claude'))
writeFileSync(
  join(home.path, '.claude', 'settings.json'),
  '{ "permissions": { "allow": ["Edit", "Write"] } }',
)

type Call = { readonly name: string; readonly input: object }

const sessions = new SessionsByMode(home, (cwd) => {
  execFileSync('git', ['init', '-q'], { cwd })
  symlinkSync(join(cwd, '.git', 'hooks'), join(cwd, 'harmless'))
})

/** Runs each call in a step of its own and denies every request. */
async function play(mode: PermissionMode, calls: (cwd: string) => readonly Call[]) {
  const { events } = await sessions.play(mode, (cwd) => {
    const steps = calls(cwd).map(({ name, input }, index) => ({
      toolCalls: [{ name, id: `toolu_${index}`, arguments: JSON.stringify(input) }],
    }))
    return modelPrompt('Write.', ...steps, { content: 'I tried.' })
  })
  return events
}

/** The outcome of each call, with the resolver of its request, if there was a request. */
function outcomesOfCalls(events: readonly SessionEvent[]): string[] {
  const ended = events.flatMap((event) => (event.type === 'tool-call.ended' ? [event] : []))
  return ended.map(({ toolCallId, outcome }) => {
    const asked = events.find(
      (event) => event.type === 'permission.requested' && event.toolCallId === toolCallId,
    )
    const answer = events.find(
      (event) =>
        event.type === 'permission.resolved' &&
        asked?.type === 'permission.requested' &&
        event.requestId === asked.requestId,
    )
    return `${outcome} by ${answer?.type === 'permission.resolved' ? answer.by : 'nobody'}`
  })
}

const protectedFiles = [
  '.claude/settings.json',
  '.claude/commands/run.md',
  '.git/hooks/pre-commit',
  '.GIT/config',
  '.mcp.json',
  '.vscode/tasks.json',
  '.envrc',
  '.bashrc',
  '.codex/config.toml',
  '.npmrc',
  'harmless/pre-push',
  'src/../.git/config',
]
const write = (cwd: string, file: string): Call => ({
  name: 'Write',
  input: { file_path: `${cwd}/${file}`, content: 'x' },
})

it.each(['accept-edits', 'ask'] as const)(
  'a person is asked about each protected file, in mode %s',
  async (mode) => {
    const events = await play(mode, (cwd) => protectedFiles.map((file) => write(cwd, file)))
    expect(outcomesOfCalls(events)).toEqual(protectedFiles.map(() => 'denied by person'))
  },
)

it('an ordinary file is written without asking in accept-edits, and every file in bypass', async () => {
  expect(outcomesOfCalls(await play('accept-edits', (cwd) => [write(cwd, 'src/a.ts')]))).toEqual([
    'completed by nobody',
  ])
  expect(outcomesOfCalls(await play('bypass', (cwd) => [write(cwd, '.envrc')]))).toEqual([
    'completed by nobody',
  ])
})

const commands = [
  'echo x >> .git/config',
  'touch .mcp.json',
  'mkdir -p .claude/commands',
  'mkdir .codex',
  'cp README.md .g"it"/hooks/pre-commit',
  'sed -i s/a/b/ .npmrc',
  'mv README.md .envrc',
  'ln -s .git/config notes',
  'cp README.md harmless/pre-commit',
  'cd .git && touch hooks/pre-commit',
]

it('in accept-edits, a person is asked about commands that change a protected file', async () => {
  const events = await play('accept-edits', () =>
    commands.map((command) => ({ name: 'Bash', input: { command, description: 'x' } })),
  )
  expect(outcomesOfCalls(events)).toEqual(commands.map(() => 'denied by person'))
})

it('in accept-edits, a person is asked when a subagent writes a protected file', async () => {
  const events = await play('accept-edits', (cwd) => {
    const { name, input } = write(cwd, '.codex/config.toml')
    const call = { name, id: 'toolu_sub', arguments: JSON.stringify(input) }
    const prompt = modelPrompt('Write.', { toolCalls: [call] }, { content: 'I tried.' })
    const task = { description: 'write', subagent_type: 'general-purpose', prompt, run_in_background: false }
    return [{ name: 'Agent', input: task }]
  })
  const asked = events.find((event) => event.type === 'permission.requested')
  expect(asked).toMatchObject({ tool: 'Write', protected: true, parentToolCallId: expect.any(String) })
  expect(outcomesOfCalls(events)).toContain('denied by person')
})

it('in a read-only session, reading outside the folder needs permission and reading inside does not', async () => {
  const secret = join(home.path, 'secret.txt')
  writeFileSync(secret, 'secret')
  const read = (file_path: string) => ({ name: 'Read', input: { file_path } })
  const events = await play('read-only', (cwd) => {
    writeFileSync(join(cwd, 'a.txt'), 'a')
    return [read(join(cwd, 'a.txt')), read(secret)]
  })
  expect(outcomesOfCalls(events)).toEqual(['completed by nobody', 'denied by person'])
})
