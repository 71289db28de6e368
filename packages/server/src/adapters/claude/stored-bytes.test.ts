import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BenchSession } from '@parley/adapter-kit/testing'
import type { ToolContent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { createHost } from '../../index.ts'
import { openSqliteStore } from '../../stores/sqlite.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { call } from '../../testing/model-answers.ts'
import type { ModelServer } from '../../testing/model-server.ts'
import { createClaudeAdapter } from './index.ts'

/** Each turn prints and writes about 25 KB: first the output of a command, from 1 to 12 KB, then a text. */
const turns = 12
const perTurn = 25_000
const printed = (turn: number) => 1_000 * (1 + (turn % turns))
const herbs = 'Parsley, sage, rosemary and thyme. '.repeat(perTurn / 35)
const prompt = 'Go on.'

it('a turn of the real Claude stores at most 1.3 times the bytes that it writes, prints and receives', async () => {
  await using home = await AgentHome.open({ answers: 'script' })
  scriptTurns(home.model, turns + 2)
  // The difference excludes data that is stored only once: the tables and the description of the program.
  const one = await storedAfter(1, home)
  const many = await storedAfter(1 + turns, home)
  const content = many.content - one.content
  expect(content / turns).toBeGreaterThan(perTurn)
  expect((many.events - one.events) / content, 'events').toBeLessThanOrEqual(1.1)
  // The limit is above 1 because rows leave pages of the file partly empty.
  expect((many.stored - one.stored) / content, 'the file').toBeLessThanOrEqual(1.3)
})

function scriptTurns(server: ModelServer, count: number): void {
  const steps = Array.from({ length: count }, (_, turn) => {
    const command = `head -c ${printed(turn)} /dev/zero | tr '\\0' x`
    return [
      { response: call('Bash', { command, description: 'print' }, `toolu_${turn}`) },
      { response: { content: herbs.slice(0, perTurn - printed(turn)) } },
    ]
  })
  server.script(({ tools }) => (tools?.length ?? 0) > 0, steps.flat())
}

/**
 * Runs a session with `count` turns and closes it. Returns the number of bytes on disk, of the events, and of the
 * content of the events.
 */
async function storedAfter(count: number, home: AgentHome) {
  const folder = join(home.path, `turns-${count}`)
  mkdirSync(folder)
  const file = join(folder, 'parley.sqlite')
  const store = openSqliteStore({ file })
  const adapter = createClaudeAdapter({ env: home.env('claude') })
  const host = await createHost({ adapters: [adapter], store })
  const { id } = await host.create({ agent: adapter.id, cwd: folder, mode: 'bypass' })
  const session = await BenchSession.follow(() => host, id)
  for (let turn = 0; turn < count; turn++) await (await session.prompt(prompt)).completed()
  await host.close()
  await store.close()
  const texts = session.all('text.written').map(({ text }) => text)
  const outputs = session.all('tool-call.ended').flatMap(({ content }) => content.map(textOf))
  const content = [...texts, ...outputs].join('').length + count * prompt.length
  return { stored: statSync(file).size, events: JSON.stringify(session.events).length, content }
}

function textOf(content: ToolContent): string {
  return content.type === 'terminal' ? content.output : ''
}
