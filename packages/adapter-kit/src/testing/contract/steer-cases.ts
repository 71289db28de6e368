import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SessionState } from '@parley/protocol'
import { expect } from '../expect.ts'
import type { Bench, BenchSession, Turn } from './bench.ts'
import { expectNextPrompt, type Kill, type KillableCase, withKill } from './kill.ts'
import type { CapabilityScenarios, Scenarios } from './setup.ts'

type Steer = CapabilityScenarios['steer']
type Begun = Awaited<ReturnType<typeof begin>>

/** A steered prompt runs once, whenever it arrives: in the running turn, or as the next turn. */
const cases: readonly (KillableCase<Steer> & { readonly shared?: true })[] = [
  {
    title: 'a prompt steered right after the first one is answered once',
    killed: 'as soon as it is connected',
    shows: rightAfterThePrompt,
  },
  {
    title: 'a prompt steered while the model answers is answered once',
    killed: 'after the steered prompt',
    shared: true,
    shows: whileTheModelAnswers,
  },
  {
    title: 'a prompt steered while a person is asked is answered once',
    killed: 'after the steered prompt',
    shared: true,
    shows: whileAPersonIsAsked,
  },
  {
    title: 'a prompt steered when the turn is over starts a turn',
    killed: 'before the steered prompt',
    shared: true,
    shows: whenTheTurnIsOver,
  },
  {
    title: 'a cancelled turn does not run a steered prompt that it has not taken up',
    killed: 'after it was cancelled',
    shows: cancelled,
  },
  { title: 'a restart runs no steered prompt twice', killed: 'before the restart', shows: restarted },
]

const hasLate = ({ late }: Steer) => late !== undefined

export const steerCases = cases.flatMap((one) => {
  const { needs, ...killed } = withKill(one)
  return [
    {
      title: one.title,
      ...(one.shared && { shared: one.shared }),
      shows: (bench: Bench, steer: Steer, scenarios: Scenarios) => one.shows(bench, steer, scenarios),
      needs: hasLate,
    },
    { ...killed, needs: (steer: Steer, scenarios: Scenarios) => hasLate(steer) && needs(steer, scenarios) },
  ]
})

async function rightAfterThePrompt(
  bench: Bench,
  { late }: Steer,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const begun = await begin(bench, late)
  const { session, scenario, release } = begun
  const steered = await session.prompt(scenario.words, 'steer')
  if (kill) {
    // Waits, because the log records no end of a process that is killed before it is connected.
    await connected(bench, session)
    await kill(session)
    await release()
    return expectNothingTwice(bench, begun, steered, scenarios)
  }
  await release()
  await expectAnswered(bench, session, [scenario.answer])
  // The text may be missing, because some agents interrupt the answer of the model when they are steered.
  expect(said(session, scenario.says)).toBeLessThanOrEqual(1)
}

async function whileTheModelAnswers(
  bench: Bench,
  { late }: Steer,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const begun = await begin(bench, late)
  const { session, scenario, release, turn } = begun
  await connected(bench, session)
  const steered = await session.prompt(scenario.words, 'steer')
  if (kill) {
    await kill(session)
    expect(await turn.ended()).toMatchObject({ outcome: 'failed', stopReason: 'agent_lost' })
    await release()
    return expectNothingTwice(bench, begun, steered, scenarios)
  }
  await release()
  await expectAnswered(bench, session, [scenario.answer])
  // The text may be missing, because some agents interrupt the answer of the model when they are steered.
  expect(said(session, scenario.says)).toBeLessThanOrEqual(1)
}

async function whileAPersonIsAsked(
  bench: Bench,
  { late }: Steer,
  scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const { permissions } = scenarios
  if (!late || !permissions) throw new Error('The scenarios "steer" and "permissions" are needed.')
  const { words, answer } = late(join(bench.folder, 'go'))
  const session = await bench.session(permissions.session)
  const turn = await session.prompt(permissions.prompt)
  const ask = await turn.asked()
  await session.prompt(words, 'steer')
  await kill?.(session)
  if (kill)
    expect(await bench.host.state(session.id)).toMatchObject({
      status: 'parked',
      requests: [{ stale: true }],
    })
  await turn.decide(ask, 'allow')
  await expectAnswered(bench, session, [answer])
  expect(await bench.file(permissions.effect.path)).toBe(permissions.effect.text)
  if (kill) await expectNextPrompt(session, scenarios, [answer])
}

async function whenTheTurnIsOver(
  bench: Bench,
  { late }: Steer,
  _scenarios: Scenarios,
  kill?: Kill,
): Promise<void> {
  const { session, scenario, release, turn } = await begin(bench, late)
  await release()
  await turn.completed()
  await kill?.(session)
  await (await session.prompt(scenario.words, 'steer')).completed()
  await expectAnswered(bench, session, [scenario.says, scenario.answer])
}

async function cancelled(bench: Bench, { late }: Steer, scenarios: Scenarios, kill?: Kill): Promise<void> {
  const begun = await begin(bench, late)
  const { session, scenario, release, turn } = begun
  await connected(bench, session)
  const steered = await session.prompt(scenario.words, 'steer')
  await session.command({ type: 'turn.cancel' })
  await kill?.(session)
  expect((await turn.ended()).outcome).toBe('cancelled')
  await release()
  const { queue } = await atRest(bench, session)
  if (!isTaken(session, steered)) {
    expect(queue).toMatchObject([{ promptId: steered.promptId, paused: true }])
    expect(said(session, scenario.answer)).toBe(0)
  }
  if (kill) await expectNothingTwice(bench, begun, steered, scenarios)
}

async function restarted(bench: Bench, { late }: Steer, scenarios: Scenarios, kill?: Kill): Promise<void> {
  const begun = await begin(bench, late)
  const { session, scenario, release } = begun
  await connected(bench, session)
  const steered = await session.prompt(scenario.words, 'steer')
  await kill?.(session)
  await bench.restart()
  await session.listen()
  await release()
  await atRest(bench, session)
  expect(said(session, scenario.answer)).toBeLessThanOrEqual(1)
  await expectNothingTwice(bench, begun, steered, scenarios)
}

/**
 * Called after the process was lost. A steered prompt that the process had started was lost with its turn. Any other
 * steered prompt waits until a person resumes the queue, and is then answered once. The work of the first prompt is not
 * repeated.
 */
async function expectNothingTwice(
  bench: Bench,
  { session, scenario }: Begun,
  steered: Turn,
  scenarios: Scenarios,
): Promise<void> {
  const { queue } = await atRest(bench, session)
  const waits = queue.some(({ promptId }) => promptId === steered.promptId)
  expect(waits || isTaken(session, steered) || steered.turnId !== undefined, 'the words are lost').toBe(true)
  if (waits) {
    expect(said(session, scenario.answer)).toBe(0)
    await session.command({ type: 'queue.resume' })
    await expectAnswered(bench, session, [scenario.answer])
  }
  await expectNextPrompt(session, scenarios, [scenario.says, scenario.answer])
  expect(said(session, scenario.answer)).toBeLessThanOrEqual(1)
  expect(said(session, scenario.says)).toBeLessThanOrEqual(1)
}

function isTaken(session: BenchSession, { promptId }: Turn): boolean {
  return session.all('prompt.taken').some((event) => event.promptId === promptId)
}

async function begin(bench: Bench, late: Steer['late']) {
  const go = join(bench.folder, 'go')
  if (!late) throw new Error('This case needs the function `late` of the scenario "steer".')
  const scenario = late(go)
  const session = await bench.session(scenario.session)
  const release = async () => {
    await writeFile(go, '')
    scenario.release?.()
  }
  return { session, scenario, release, turn: await session.prompt(scenario.prompt) }
}

async function connected(bench: Bench, session: BenchSession): Promise<void> {
  await stateWhen(
    bench,
    session,
    'a connection with the id of its conversation',
    ({ connected, connection }) => connected && connection?.agentSessionId !== undefined,
  )
}

async function expectAnswered(bench: Bench, session: BenchSession, texts: readonly string[]): Promise<void> {
  const isAnswered = () => texts.every((text) => said(session, text) > 0)
  await session.until(isAnswered, `the texts ${JSON.stringify(texts)}`)
  const { queue } = await atRest(bench, session)
  expect(queue).toEqual([])
  for (const text of texts) expect(said(session, text), text).toBe(1)
}

function said(session: BenchSession, text: string): number {
  return session.all('text.written').filter((event) => event.text.includes(text)).length
}

/** The state once the session is idle. */
function atRest(bench: Bench, session: BenchSession): Promise<SessionState> {
  return stateWhen(bench, session, 'the session to be idle', ({ status }) => status === 'idle')
}

async function stateWhen(
  bench: Bench,
  session: BenchSession,
  what: string,
  holds: (state: SessionState) => boolean,
): Promise<SessionState> {
  for (;;) {
    const seq = session.events.at(-1)?.seq ?? 0
    const state = await bench.host.state(session.id)
    if (holds(state)) return state
    await session.until(() => (session.events.at(-1)?.seq ?? 0) > seq, what)
  }
}
