import { expect } from '../expect.ts'
import type { Bench } from './bench.ts'
import { type CapabilityCase, nothingToRefuse } from './capability-case.ts'

/** A suggested commit message is the answer to a question that is asked aside. */
export const asideCase: CapabilityCase<'aside'> = {
  title:
    'asked aside, the agent answers what it remembers, runs no call, and stores neither the question nor the answer',
  async shows(bench, { fact, calls, effect, recall }) {
    const session = await bench.session({ mode: 'bypass' })
    await (await session.prompt(fact.prompt)).completed()
    const stored = () => storedIn(bench)
    const before = { events: session.events.length, stored: await stored() }
    const { message, by, why } = await bench.host.suggestMessage(session.id, [calls])
    expect({ by, why }).toEqual({ by: 'agent', why: undefined })
    expect(message).toContain(fact.says)
    expect(await bench.file(effect.path)).toBeUndefined()
    expect({ events: session.events.length, stored: await stored() }).toEqual(before)
    const turn = await session.prompt(recall)
    await turn.completed()
    expect(turn.said).toContain(fact.says)
    expect(turn.said).not.toContain('message for a git commit')
  },
  async refused(bench) {
    const session = await bench.session()
    expect(await bench.host.suggestMessage(session.id, ['a.txt'])).toMatchObject({ by: 'title' })
    return nothingToRefuse
  },
}

/** The ids of the conversations that the agent itself stores. */
async function storedIn(bench: Bench): Promise<string[]> {
  const signal = AbortSignal.timeout(30_000)
  const listed = await bench.newAdapter().conversations?.list({ cwd: bench.folder }, signal)
  return (listed ?? []).map(({ agentSessionId }) => agentSessionId).toSorted()
}
