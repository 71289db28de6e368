import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '../peers.ts'
import type { Bench, BenchSession } from './bench.ts'
import type { CapabilityScenarios, Scenarios } from './setup.ts'

type Steer = CapabilityScenarios['steer']

/** A steered prompt runs once, whenever it comes: in the turn that runs, or as the next one. */
const cases = [
  { title: 'words that come right after the prompt are answered once', shows: rightAfterThePrompt },
  { title: 'words that come while the model answers are answered once', shows: whileTheModelAnswers },
  { title: 'words that come while a person is asked are answered once', shows: whileAPersonIsAsked },
  { title: 'words that come when the turn is over begin a turn', shows: whenTheTurnIsOver },
  { title: 'a cancelled turn does not run words that it has not taken up', shows: cancelled },
  { title: 'a restart runs no words twice', shows: restarted },
]

export const steerCases = cases.map((one) => ({ ...one, needs: ({ late }: Steer) => late !== undefined }))

async function rightAfterThePrompt(bench: Bench, { late }: Steer): Promise<void> {
  const { session, scenario, release } = await begin(bench, late)
  await session.prompt(scenario.words, 'steer')
  await release()
  await expectAnswered(bench, session, [scenario.answer])
  // Some agents break off what the model says when they are steered.
  expect(said(session, scenario.says)).toBeLessThanOrEqual(1)
}

async function whileTheModelAnswers(bench: Bench, { late }: Steer): Promise<void> {
  const { session, scenario, release } = await begin(bench, late)
  await connected(session)
  await session.prompt(scenario.words, 'steer')
  await release()
  await expectAnswered(bench, session, [scenario.answer])
  // Some agents break off what the model says when they are steered.
  expect(said(session, scenario.says)).toBeLessThanOrEqual(1)
}

async function whileAPersonIsAsked(bench: Bench, { late }: Steer, { permissions }: Scenarios): Promise<void> {
  if (!late || !permissions) throw new Error('The scenarios "steer" and "permissions" are needed.')
  const { words, answer } = late(join(bench.folder, 'go'))
  const session = await bench.session(permissions.session)
  const turn = await session.prompt(permissions.prompt)
  const ask = await turn.asked()
  await session.prompt(words, 'steer')
  await turn.decide(ask, 'allow')
  await expectAnswered(bench, session, [answer])
  expect(await bench.file(permissions.effect.path)).toBe(permissions.effect.text)
}

async function whenTheTurnIsOver(bench: Bench, { late }: Steer): Promise<void> {
  const { session, scenario, release, turn } = await begin(bench, late)
  await release()
  await turn.completed()
  await (await session.prompt(scenario.words, 'steer')).completed()
  await expectAnswered(bench, session, [scenario.says, scenario.answer])
}

async function cancelled(bench: Bench, { late }: Steer): Promise<void> {
  const { session, scenario, release, turn } = await begin(bench, late)
  await connected(session)
  const steered = await session.prompt(scenario.words, 'steer')
  await session.command({ type: 'turn.cancel' })
  expect((await turn.ended()).outcome).toBe('cancelled')
  await release()
  const { queue } = await atRest(bench, session)
  const taken = session.all('prompt.taken').some(({ promptId }) => promptId === steered.promptId)
  if (taken) return
  expect(queue).toMatchObject([{ promptId: steered.promptId, paused: true }])
  expect(said(session, scenario.answer)).toBe(0)
}

async function restarted(bench: Bench, { late }: Steer): Promise<void> {
  const { session, scenario, release } = await begin(bench, late)
  await connected(session)
  await session.prompt(scenario.words, 'steer')
  await bench.restart()
  await session.listen()
  await release()
  await atRest(bench, session)
  expect(said(session, scenario.answer)).toBeLessThanOrEqual(1)
}

async function begin(bench: Bench, late: Steer['late']) {
  const go = join(bench.folder, 'go')
  if (!late) throw new Error('The scenario "steer" says nothing of late words: give it late().')
  const scenario = late(go)
  const session = await bench.session(scenario.session)
  const release = async () => {
    await writeFile(go, '')
    scenario.release?.()
  }
  return { session, scenario, release, turn: await session.prompt(scenario.prompt) }
}

async function connected(session: BenchSession): Promise<void> {
  await session.until(() =>
    session.all('agent.connected').find(({ agentSessionId }) => agentSessionId !== undefined),
  )
}

async function expectAnswered(bench: Bench, session: BenchSession, texts: readonly string[]): Promise<void> {
  await session.until(() => texts.every((text) => said(session, text) > 0))
  const { queue } = await atRest(bench, session)
  expect(queue).toEqual([])
  for (const text of texts) expect(said(session, text), text).toBe(1)
}

function said(session: BenchSession, text: string): number {
  return session.all('text.written').filter((event) => event.text.includes(text)).length
}

/** The state once nothing runs. */
async function atRest(bench: Bench, session: BenchSession) {
  for (;;) {
    const seq = session.events.at(-1)?.seq ?? 0
    const state = await bench.host.state(session.id)
    if (state.status === 'idle') return state
    await session.until(() => (session.events.at(-1)?.seq ?? 0) > seq)
  }
}
