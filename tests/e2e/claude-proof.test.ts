import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keysOf } from '../../packages/server/src/proof/keys.ts'
import { verifyLog } from '../../packages/server/src/proof/verify-log.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { bash, ClaudeFixture, call, done } from './claude-fixture.ts'

let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start()
})
afterAll(() => claude?.[Symbol.asyncDispose]())

it('an export of a session of Claude Code lists each call with its decision, and a changed copy is found', async () => {
  const { client, server } = claude
  const cwd = claude.folder()
  writeFileSync(join(cwd, 'notes.txt'), 'some notes')
  await client.call('createRule', {
    body: { tool: 'Bash', match: { command: 'touch by-rule' }, decision: 'allow', scope: 'always' },
  })
  const prompt = modelPrompt(
    'Work.',
    bash('touch by-rule'),
    bash('touch by-person'),
    bash('touch refused'),
    call('Read', { file_path: join(cwd, 'notes.txt') }),
    done,
  )
  const { id } = await client.createSession({ agent: 'claude', cwd, prompt })
  for await (const event of client.events(id)) {
    if (event.type === 'permission.requested' && event.title.includes('by-person'))
      await client.decide(id, event.requestId, 'allow')
    if (event.type === 'permission.requested' && event.title.includes('refused'))
      await client.decide(id, event.requestId, 'deny')
    if (event.type === 'turn.ended') break
  }
  const text = await client.call('exportSession', { params: { id }, query: { proof: 'true' } })
  const lines = text.trimEnd().split('\n')
  const proof = JSON.parse(lines.pop() ?? '') as { keys: { publicKey: string }[] }
  const keys = keysOf(proof.keys.map(({ publicKey }) => publicKey))
  const verified = verifyLog(lines, keys)
  expect(verified.findings).toEqual([])
  expect(verified.sealedTo).toBe(lines.length)
  expect(verified.calls.map(({ tool, by }) => [tool, by])).toEqual([
    ['Bash', 'rule'],
    ['Bash', 'person'],
    ['Read', 'agent'],
  ])
  for (const { inputHash } of verified.calls) expect(inputHash).toMatch(/^[\w-]{43}$/)
  expect(verified.calls[0]?.ruleId).toBeDefined()

  for (const [from, to] of [
    ['touch by-person', 'touch by-Person'],
    ['"outcome":"denied"', '"outcome":"allowed"'],
  ] as const) {
    const changed = text.replace(from, to).trimEnd().split('\n').slice(0, -1)
    expect(changed).not.toEqual(lines)
    expect(verifyLog(changed, keys).findings).not.toEqual([])
  }
  expect(readFileSync(join(server.dataDir, 'seal-key.pem'), 'utf8')).toContain('PRIVATE KEY')
})
