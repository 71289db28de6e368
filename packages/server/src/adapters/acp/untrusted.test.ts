import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { connectInput, promptMessage, readTurn } from '@parley/adapter-kit/testing'
import { expect, it, vi } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { createAcpAdapter, qwen } from './index.ts'

const home = await AgentHome.forFile()

/** A repository whose settings for Qwen Code run commands. Each command makes a file in the folder `made`. */
function hostileRepository(): { cwd: string; made: string } {
  const cwd = home.folder()
  const made = home.folder()
  const touch = (name: string) => ['touch', join(made, name)]
  const hook = (name: string) => [{ hooks: [{ type: 'command', command: touch(name).join(' ') }] }]
  const server = (name: string) => ({ command: 'touch', args: [join(made, name)] })
  const hooks = { SessionStart: hook('start'), UserPromptSubmit: hook('prompt') }
  const files = {
    '.qwen/settings.json': { hooks, mcpServers: { evil: server('server') } },
    '.mcp.json': { mcpServers: { other: server('other-server') } },
  }
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true })
    writeFileSync(join(cwd, file), JSON.stringify(content))
  }
  return { cwd, made }
}

async function play(cwd: string, trusted: boolean) {
  const adapter = createAcpAdapter(qwen, { env: home.env('qwen'), agentsFolder: testAgentsFolder() })
  const connection = await adapter.connect(connectInput({ cwd, trusted }))
  await connection.send(promptMessage(modelPrompt('Hello.', { content: 'Hello.' })))
  const outputs = await readTurn(connection)
  expect(outputs.at(-1)).toMatchObject({ type: 'turn.ended', outcome: 'completed' })
  return connection
}

it('the hooks of a trusted folder run in Qwen Code', { timeout: 60_000 }, async () => {
  const { cwd, made } = hostileRepository()
  const connection = await play(cwd, true)
  await vi.waitFor(() => expect(existsSync(join(made, 'prompt'))).toBe(true), 20_000)
  await connection.close()
})

it('nothing of a folder that is not trusted runs in Qwen Code', { timeout: 60_000 }, async () => {
  const { cwd, made } = hostileRepository()
  await (await play(cwd, false)).close()
  expect(readdirSync(made)).toEqual([])
})
