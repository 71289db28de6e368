import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onBench } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { claudeAcp, createAcpAdapter, gemini } from './index.ts'

const home = await AgentHome.forFile()
const other = folderForFile()
writeFileSync(join(other, 'poem.txt'), 'roses are red\n')

const read = (name: string): ModelAnswer => ({
  toolCalls: [{ name, id: 'toolu_a', arguments: JSON.stringify({ file_path: join(other, 'poem.txt') }) }],
})
const agentsFolder = testAgentsFolder()
const agents = {
  gemini: {
    adapter: () => createAcpAdapter(gemini, { env: home.env('gemini'), agentsFolder }),
    tool: 'read_file',
  },
  'claude-acp': {
    adapter: () => createAcpAdapter(claudeAcp, { env: home.env('claude'), agentsFolder }),
    tool: 'Read',
  },
}

it.each(Object.entries(agents))(
  '%s reads in an additional folder of the session without asking',
  { timeout: 60_000 },
  (_, agent) =>
    onBench({ adapter: agent.adapter, host: contractHost }, agent.adapter(), async (bench) => {
      const session = await bench.session({ options: { directories: [other] } })
      const turn = await session.prompt(modelPrompt('Read.', read(agent.tool), { content: 'That is done.' }))
      await turn.completed()
      expect(turn.all('permission.requested')).toEqual([])
      expect(turn.all('tool-call.ended')).toMatchObject([{ outcome: 'completed' }])
    }),
)

it.each(Object.entries(agents))(
  '%s does not read outside the folders of the session without permission',
  { timeout: 60_000 },
  (_, agent) =>
    onBench({ adapter: agent.adapter, host: contractHost }, agent.adapter(), async (bench) => {
      const session = await bench.session({ mode: 'ask' })
      const turn = await session.prompt(modelPrompt('Read.', read(agent.tool), { content: 'That is done.' }))
      const asked = await session.until(
        () => turn.all('permission.requested')[0] ?? turn.all('turn.ended')[0],
      )
      if (asked.type === 'permission.requested') await turn.decide(asked, 'deny')
      await turn.ended()
      expect(turn.all('tool-call.ended').map(({ outcome }) => outcome)).not.toContain('completed')
    }),
)
