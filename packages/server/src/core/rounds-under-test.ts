import type { NewRoundInput } from '@parley/protocol'
import { SessionUnderTest } from './host-under-test.ts'
import { shell, tested, worktreeOf } from './worktrees-under-test.ts'

export const two = [{ agent: 'scripted' }, { agent: 'scripted', model: 'scripted-small' }]

/** A host with a repository, and a round in it. */
export async function withRound(
  { script = [shell('made.txt')], ...given }: Partial<NewRoundInput> & { script?: object[] } = {},
  options: Parameters<typeof tested>[0] = {},
) {
  const repository = await tested(options)
  const { test } = repository
  await test.host.trust(repository.repository)
  const round = await test.host.createRound({
    prompt: JSON.stringify(script),
    cwd: repository.repository,
    title: 'Repair the parser',
    attempts: two,
    ...given,
  })
  const sessions = round.attempts.map(({ sessionId }) => new SessionUnderTest(() => test.host, sessionId))
  return { ...repository, round, sessions, shown: () => test.host.round(round.id) }
}

export const worked = async (sessions: readonly SessionUnderTest[]) => {
  for (const session of sessions) await session.when(({ turns, turn }) => turns === 1 && !turn)
}
export const pathOf = async (session: SessionUnderTest) => (await worktreeOf(session))?.path ?? ''
