import { expect } from '../expect.ts'
import type { Bench, BenchSession } from './bench.ts'
import type { Scenarios } from './setup.ts'

/** Kills the agent's process. Resolves when the session has recorded the end of the process. */
export type Kill = (session: BenchSession) => Promise<void>

/** A case that can be run with a kill in its middle, at the moment that `killed` names. */
export type KillableCase<Scenario> = {
  readonly title: string
  readonly killed: string
  /** Without `kill` the case runs to its end. */
  shows(bench: Bench, scenario: Scenario, scenarios: Scenarios, kill?: Kill): Promise<void>
}

/** The same case with the agent's process killed in its middle, for an agent whose process can be killed. */
export function withKill<Scenario>({ title, killed, shows }: KillableCase<Scenario>) {
  return {
    title: `${title}; its process is killed ${killed}`,
    shows: (bench: Bench, scenario: Scenario, scenarios: Scenarios) =>
      shows(bench, scenario, scenarios, (session) => killProcess(session, scenarios)),
    needs: (_scenario: Scenario, scenarios: Scenarios) => killOf(scenarios) !== undefined,
  }
}

function killOf({ crash }: Scenarios): (() => Promise<void>) | undefined {
  return 'kill' in crash ? crash.kill : undefined
}

async function killProcess(session: BenchSession, scenarios: Scenarios): Promise<void> {
  const gone = () => session.all('agent.disconnected').length
  const before = gone()
  await killOf(scenarios)?.()
  await session.until(() => gone() > before, '`agent.disconnected` after the kill', 'crash')
}

/** After the loss of the process, the session accepts a prompt, and no lost output appears later. */
export async function expectNextPrompt(
  session: BenchSession,
  { text }: Scenarios,
  lost: readonly string[] = [],
): Promise<void> {
  const seq = session.events.at(-1)?.seq ?? 0
  const next = await session.prompt(text.prompt)
  await next.completed()
  expect(next.said).toContain(text.says)
  const later = session.all('text.written').filter((event) => event.seq > seq)
  for (const words of lost) expect(later.filter((event) => event.text.includes(words))).toEqual([])
}
