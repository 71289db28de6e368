import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { processesIn } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { bash, done, SessionFixture } from './claude-fixture.ts'
import { NodesFixture } from './nodes-fixture.ts'

/** Tests the real Claude Code on three nodes. The model is scripted, on loopback. */
it('a conversation of Claude Code continues on another node after its node was killed with a permission open', async () => {
  await using home = await AgentHome.open()
  await using nodes = await NodesFixture.start({ claudeEnvironment: home.env('claude') })
  const [a, b, c] = nodes.nodes
  const cwd = nodes.newFolder('work')
  const { id } = await a.client.createSession({ agent: 'claude', cwd })
  const [atA, atB, atC] = [a, b, c].map(({ client }) => new SessionFixture(client, id, cwd))
  await atA!.completes(modelPrompt('Hello.', { content: 'Hello there.' }))
  await atB!.prompt(modelPrompt('Write.', bash('printf x | tee -a once'), done))
  const asked = await atC!.request('permission')
  await a.end('SIGKILL')
  const { requests } = await atC!.when((state) => state.requests.some(({ stale }) => stale))
  expect(requests.map(({ requestId }) => requestId)).toEqual([asked.requestId])
  expect(existsSync(join(cwd, 'once'))).toBe(false)
  await atC!.decide('allow')
  expect((await atB!.ended()).outcomes).toEqual(['completed', 'completed'])
  expect(readFileSync(join(cwd, 'once'), 'utf8')).toBe('x')
  expect((await nodes.owner(id)).name).not.toBe('A')
  // The model gets the whole conversation, from the first turn on.
  await atB!.completes(modelPrompt('And now?', done))
  const sent = JSON.stringify(home.model.calls.at(-1)?.body)
  for (const words of ['Hello there.', 'tee -a once', 'And now?']) expect(sent).toContain(words)
  await nodes.allUp()
  await new SessionFixture(a.client, id, cwd).completes(modelPrompt('At home again.', done))
  expect(processesIn(home.path).filter(({ line }) => line.includes('claude-agent-sdk')).length).toBe(1)
  expect(await nodes.termProblems()).toEqual([])
  expect(readFileSync(join(cwd, 'once'), 'utf8')).toBe('x')
})
