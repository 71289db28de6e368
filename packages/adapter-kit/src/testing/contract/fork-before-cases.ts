import type { EventOf } from '@parley/protocol'
import { expect } from '../expect.ts'
import { type Bench, type BenchSession, Turn } from './bench.ts'
import { type CapabilityCase, refusalOf, refusedCommand } from './capability-case.ts'
import { expectNextPrompt, type Kill, withKill } from './kill.ts'
import type { CapabilityScenarios, Recall, Scenarios } from './setup.ts'

/** Forks before a prompt: the agent of the fork remembers everything before that prompt, and nothing else. */
export const forkBeforeCase: CapabilityCase<'forkBefore'> = {
  title:
    'a fork before a prompt remembers only the conversation before it, and the original continues unchanged',
  shared: true,
  async shows(bench, scenario) {
    const { origin, prompts } = await tell(bench, scenario)
    const fork = await forkBefore(bench, origin, prompts[1])
    await expectKnown(fork, scenario, [true, false])
    await expectKnown(origin, scenario, [true, true])
    const of = async ({ id }: BenchSession) => (await bench.host.state(id)).connection?.agentSessionId
    expect(await of(fork)).not.toBe(await of(origin))
  },
  more: [
    {
      title: 'a fork before the first prompt remembers nothing',
      async shows(bench, scenario) {
        const { origin, prompts } = await tell(bench, scenario)
        await expectKnown(await forkBefore(bench, origin, prompts[0]), scenario, [false, false])
      },
    },
    {
      title:
        'a fork of a fork before a copied prompt remembers what was said before it, even after a restart',
      async shows(bench, scenario) {
        const { origin, prompts } = await tell(bench, scenario)
        const { sessionId = '' } = await origin.command({ type: 'session.fork' })
        const first = await bench.follow(sessionId)
        await expectKnown(first, scenario, [true, true])
        await bench.restart()
        const second = await forkBefore(bench, first, prompts[1])
        await bench.restart()
        await second.listen()
        await expectKnown(second, scenario, [true, false])
      },
    },
    {
      title: 'a fork before a prompt that was compacted remembers what was said before it, or is refused',
      needs: (_scenario, scenarios) => scenarios.compaction !== undefined,
      async shows(bench, scenario) {
        const { origin, prompts } = await tell(bench, scenario)
        const { promptId = '' } = await origin.command({ type: 'session.compact' })
        await new Turn(origin, promptId).completed()
        const fork = forkBefore(bench, origin, prompts[1])
        if (bench.newAdapter().dropsCompacted)
          expect(await refusalOf(fork)).toMatchObject({ code: 'conflict', details: { promptId: prompts[1] } })
        else await expectKnown(await fork, scenario, [true, false])
      },
    },
    {
      title:
        'a rewind of the conversation makes the agent forget the turns since a prompt, until the rewind is undone',
      shows: rewindTalk,
    },
    {
      title:
        'a rewind of files and conversation removes a file that a command wrote, and the agent forgets the command; undoing it brings back both',
      needs: (_scenario, scenarios) => scenarios.permissions !== undefined,
      shows: rewindBoth,
    },
    withKill({
      title: 'a fork before a prompt remembers what was said before it',
      killed: 'before the fork has its first prompt',
      shows: forkAndKill,
    }),
  ],
  refused: (bench) => refusedCommand(bench, { type: 'session.fork', before: 'prm_any' }),
}

async function forkAndKill(bench: Bench, scenario: Recall, scenarios: Scenarios, kill?: Kill): Promise<void> {
  const { origin, prompts } = await tell(bench, scenario)
  const fork = await forkBefore(bench, origin, prompts[1])
  await kill?.(origin)
  await expectKnown(fork, scenario, [true, false])
  await expectNextPrompt(origin, scenarios)
  await expectKnown(origin, scenario, [true, true])
}

async function rewindTalk(bench: Bench, scenario: Recall): Promise<void> {
  const { origin, prompts } = await tell(bench, scenario)
  const rewind = { type: 'session.rewind', promptId: prompts[1], files: false, talk: true } as const
  await origin.command(rewind)
  await origin.command({ type: 'session.unrewind' })
  await expectKnown(origin, scenario, [true, true])
  await origin.command(rewind)
  await expectKnown(origin, scenario, [true, false])
  expect(await refusalOf(origin.command({ type: 'session.unrewind' }))).toMatchObject({ code: 'conflict' })
  await bench.restart()
  await origin.listen()
  await expectKnown(origin, scenario, [true, false])
}

async function rewindBoth(
  bench: Bench,
  { facts, recall }: Recall,
  { permissions }: Scenarios,
): Promise<void> {
  if (!permissions) throw new Error('This case needs the scenario "permissions".')
  const { effect, prompt } = permissions
  const { path, text } = effect
  const root = await bench.temporaryFolder()
  await bench.restart({ sessionFolder: bench.hosts.createSessionFolder(root) })
  const session = await bench.session(permissions.session)
  await (await session.prompt(facts[0].prompt)).completed()
  const work = await session.prompt(prompt)
  const request = await work.asked()
  const { turnId } = await session.until(
    () => session.all('turn.started').find((started) => started.promptId === work.promptId),
    'the start of the turn',
  )
  const isFirst = (taken: EventOf<'snapshot.taken'>) => taken.turnId === turnId && taken.when === 'before'
  await session.until(() => session.all('snapshot.taken').find(isFirst), 'the snapshot before the turn')
  await work.decide(request, 'allow')
  await work.completed()
  expect(await bench.file(path)).toBe(text)
  const rewind = { type: 'session.rewind', promptId: work.promptId, talk: true } as const
  await session.command(rewind)
  expect(await bench.file(path)).toBeUndefined()
  await session.command({ type: 'session.unrewind' })
  expect(await bench.file(path)).toBe(text)
  await session.command(rewind)
  const turn = await session.prompt(recall)
  await turn.completed()
  expect(turn.said).toContain(facts[0].says)
  expect(turn.said).not.toContain(path)
  expect(await bench.file(path)).toBeUndefined()
}

async function tell(
  bench: Bench,
  { facts }: CapabilityScenarios['forkBefore'],
): Promise<{ origin: BenchSession; prompts: [string, string] }> {
  const origin = await bench.session()
  const [first, second] = [await origin.prompt(facts[0].prompt), await origin.prompt(facts[1].prompt)]
  await second.completed()
  return { origin, prompts: [first.promptId, second.promptId] }
}

async function forkBefore(bench: Bench, { id }: BenchSession, before: string): Promise<BenchSession> {
  const commandId = `fork-${before}`
  const { sessionId } = await bench.host.command(id, { type: 'session.fork', before, commandId })
  const fork = await bench.follow(sessionId ?? '')
  expect(fork.all('turn.started').map(({ promptId }) => promptId)).not.toContain(before)
  expect((await bench.host.state(fork.id)).queue).toEqual([])
  return fork
}

/** Asks the agent for everything that was said. `known` says which of the two facts the answer must contain. */
async function expectKnown(
  session: BenchSession,
  { facts, recall }: Recall,
  known: [boolean, boolean],
): Promise<void> {
  const turn = await session.prompt(recall)
  await turn.completed()
  const found = facts.map(({ says }) => turn.said.includes(says))
  expect(found, 'which of the facts the agent remembers').toEqual(known)
}
