import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

const id = '4f2b8a1e-0000-4000-8000-000000000001'

/**
 * Writes a conversation in the format of Claude Code; adapters/claude/memory.test.ts uses real conversations.
 */
function remember(home: Home): void {
  const folder = join(home.folder, '.claude', 'projects', 'app')
  mkdirSync(folder, { recursive: true })
  const entry = (type: string, content: unknown) =>
    JSON.stringify({
      type,
      uuid: `${type}-1`,
      timestamp: '2026-01-01T00:00:00.000Z',
      cwd: home.folder,
      sessionId: id,
      message: { role: type, content, id: 'msg_1', type: 'message', model: 'm', usage: {} },
    })
  const lines = [entry('user', 'Water the herbs'), entry('assistant', [{ type: 'text', text: 'Watered.' }])]
  writeFileSync(join(folder, `${id}.jsonl`), `${lines.join('\n')}\n`)
}

it('release prints the command that continues a session in the program of its agent', async () => {
  await using home = createHome()
  remember(home)
  const session = (await home.run(['import', 'claude', id])).stdout.trim()
  const { exitCode, stdout, stderr } = await home.run(['release', session])
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(new RegExp(`^(/.*/)?claude --resume ${id}\\n$`))
  expect(stderr).toContain(`To continue, run in ${home.folder}:`)
  expect(stderr).toContain(`Released ${session}.`)
})

it('import lists the conversations of an agent, and imports one as a session', async () => {
  await using home = createHome()
  const none = await home.run(['import', 'claude'])
  expect(none).toMatchObject({ exitCode: 0, stdout: '', stderr: 'claude has no conversations to import.\n' })
  remember(home)
  const listed = await home.run(['import', 'claude'])
  expect(listed.stdout).toContain(id)
  expect(listed.stdout).toContain('Water the herbs')
  const imported = await home.run(['import', 'claude', id])
  expect(imported.exitCode).toBe(0)
  const session = imported.stdout.trim()
  expect((await home.run(['import', 'claude', id])).stdout.trim()).toBe(session)
  expect((await home.run(['import', 'claude'])).stdout).toContain(session)
  const shown = await home.run(['show', session])
  expect(shown.stdout).toContain('Watered.')
  // The path is shown if the program is not on the person's PATH.
  expect(shown.stdout).toMatch(
    new RegExp(`Continue in the agent's own program: (/.*/)?claude --resume ${id}\\n`),
  )
})

it('import reports the reason if a conversation cannot be imported', async () => {
  await using home = createHome()
  expect(await home.run(['import', 'demo'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('does not list its conversations'),
  })
  expect(await home.run(['import', 'claude', 'nothing'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('has no conversation nothing'),
  })
})
