import { promptText } from '@parley/protocol'
import { expect } from '../expect.ts'
import type { Bench, BenchSession } from './bench.ts'
import type { Rejoining } from './setup.ts'

/**
 * A conversation starts here, continues in the agent's own program and then here again, several times: while our
 * process holds it, after it was released, and after a restart of the server. Every prompt and answer is in the log
 * once, and the agent remembers all of them.
 */
export async function showRejoin(bench: Bench, scenario: Rejoining): Promise<void> {
  const { tell, recall, locks } = scenario
  const session = await bench.session()
  const texts: string[] = []
  const here = async (words: string) => {
    texts.push(words)
    await (await session.prompt(tell(words, `Heard: ${words}`))).completed()
  }
  const elsewhere = async (words: string) => {
    const { connection } = await bench.host.state(session.id)
    const answer = await scenario.speak(connection?.agentSessionId ?? '', bench.folder, recall(words))
    for (const before of texts) expect(answer).toContain(before)
    texts.push(words)
  }

  await here('Parsley here.')
  if (!locks) await elsewhere('Sage there, beside a live process.')
  await here('Rosemary here.')
  await session.command({ type: 'session.release' })
  await elsewhere('Thyme there, after a release.')
  await here('Mint here.')
  await bench.restart()
  await elsewhere('Dill there, while the server was away.')
  await session.listen()
  const turn = await session.prompt(recall('What was said?'))
  await turn.completed()

  for (const words of texts) expect(turn.said).toContain(words)
  expectOnce(session, texts)
}

function expectOnce(session: BenchSession, texts: readonly string[]): void {
  const prompts = session.all('prompt.submitted')
  const places = texts.map((words) => {
    const found = prompts.filter(({ parts }) => promptText(parts).includes(words))
    expect(found, words).toHaveLength(1)
    expect(found[0]?.outside !== undefined, words).toBe(words.includes('there'))
    return session.all('turn.started').findIndex(({ promptId }) => promptId === found[0]?.promptId)
  })
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(session.all('session.released')).toHaveLength(1)
  expect(session.all('agent.noticed').filter(({ code }) => /^outside-(branch|unknown)$/.test(code))).toEqual(
    [],
  )
  for (const { promptId, outside } of prompts) {
    const turnId = session.all('turn.started').find((started) => started.promptId === promptId)?.turnId
    const texts = session.all('text.written').filter((event) => event.turnId === turnId)
    expect(texts, `answers to ${promptId}, ${outside ? 'outside' : 'here'}`).toHaveLength(1)
  }
}
