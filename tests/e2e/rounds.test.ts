import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createClient } from '@parley/client'
import { pino } from 'pino'
import { afterAll, expect, it } from 'vitest'
import { type Parley, startParley } from '../../packages/server/src/cli/start.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { done } from '../../packages/server/src/testing/model-answers.ts'
import type { ModelAnswer, ModelRequest } from '../../packages/server/src/testing/model-server.ts'
import { realAgents } from '../../packages/server/src/testing/real-agents.ts'
import { folderForFile } from '../../packages/server/src/testing/temporary-folder.ts'

/** Tests a round of two real agents, whose models make different edits for the same prompt. */

const words = 'Write your own name into a file.'
const home = await AgentHome.forFile({
  prepare: (model) =>
    model.script(
      ({ messages }) => JSON.stringify(messages).includes(words),
      Array.from({ length: 100 }, () => ({ response: answer })),
    ),
})
const agents = realAgents(home)

/** Each model is known by the name of the tool with which its agent runs commands. */
function answer({ messages, tools }: ModelRequest): ModelAnswer {
  const named = JSON.stringify(tools ?? [])
  const name = named.includes('"exec_command"') ? 'codex' : named.includes('"Bash"') ? 'claude' : undefined
  if (name === undefined || messages.some(({ role }) => role === 'tool')) return done
  const lines = name === 'codex' ? 'codex\\ncodex\\n' : 'claude\\n'
  return agents[name].command(`printf "${lines}" > made.txt`)
}

const repository = home.folder('work')
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], {
    cwd: repository,
    encoding: 'utf8',
  }).trim()
git('init', '-q', '-b', 'main')
git('commit', '-q', '--allow-empty', '-m', 'first')

const token = 'the-token-of-this-test-0123456789'
const parley: Parley = await startParley({
  adapters: [agents.claude.adapter(), agents.codex.adapter()],
  dataDir: folderForFile(),
  hostname: '127.0.0.1',
  logger: pino({ level: 'silent' }),
  port: 0,
  token,
})
afterAll(() => parley.close())

it('Claude and Codex make different changes for the same prompt, which are checked and compared, and one is picked', async () => {
  using client = createClient({ url: parley.http.url, token })
  await client.call('trustFolder', { body: { folder: repository } })
  const attempts = (['claude', 'codex'] as const).map((agent) => ({ agent, mode: 'bypass' as const }))
  const { id, projectId = '' } = await client.createRound({ prompt: words, cwd: repository, attempts })
  const params = { id }
  const roundOf = () => client.call('getRound', { params })
  const when = (what: (state: string) => boolean) =>
    expect
      .poll(async () => (await roundOf()).attempts.map(({ state }) => what(state)), { timeout: 60_000 })
      .toEqual([true, true])
  await when((state) => state === 'done')
  const { attempts: made, base } = await roundOf()
  expect(base).toBe(git('rev-parse', 'HEAD'))
  expect(made).toMatchObject([
    { agent: 'claude', turns: 1, changes: { files: 1, added: 1, removed: 0 } },
    { agent: 'codex', turns: 1, changes: { files: 1, added: 2, removed: 0 } },
  ])
  for (const { tokens, workedMs } of made) {
    expect(tokens?.output).toBeGreaterThanOrEqual(0)
    expect(workedMs).toBeGreaterThan(0)
  }
  // Only Claude reports a cost.
  expect(made.map(({ costUsd }) => costUsd !== undefined)).toEqual([true, false])

  const compared = await client.call('compareAttempts', { params, query: { to: 2, from: 1 } })
  expect(compared.files).toMatchObject([{ path: 'made.txt', status: 'modified', added: 2, removed: 1 }])
  const query = { to: 2, from: 1, path: 'made.txt' }
  const { patch } = await client.call('getAttemptPatch', { params, query })
  expect(patch).toContain('-claude\n+codex\n+codex\n')

  const check = 'grep -c codex made.txt'
  await client.call('patchProject', { params: { id: projectId }, body: { check } })
  for (const { sessionId } of made) await client.command(sessionId, { type: 'check.run' })
  await expect
    .poll(async () => (await roundOf()).attempts.map((one) => one.check?.exitCode), { timeout: 10_000 })
    .toEqual([1, 0])

  await client.command(made[1]?.sessionId ?? '', { type: 'attempt.pick' })
  const phases = async () => (await roundOf()).attempts.map(({ worktree }) => worktree?.phase)
  await expect.poll(phases, { timeout: 20_000 }).toEqual(['removed', 'ready'])
  expect(existsSync(made[0]?.worktree?.path ?? '')).toBe(false)
  // The files of a removed attempt can still be compared.
  expect((await client.call('getAttemptPatch', { params, query })).patch).toBe(patch)
  await client.command(made[0]?.sessionId ?? '', { type: 'attempt.pick' })
  await expect.poll(phases, { timeout: 20_000 }).toEqual(['ready', 'removed'])
  expect((await roundOf()).attempts[0]?.changes).toEqual({ files: 1, added: 1, removed: 0 })
})
