import { expect } from '../expect.ts'
import { asideCase } from './aside-case.ts'
import { backgroundCase } from './background-cases.ts'
import { Turn } from './bench.ts'
import { type CapabilityCases, play, refusedCommand, start } from './capability-case.ts'
import { forkBeforeCase } from './fork-before-cases.ts'
import { forkElsewhereCase } from './fork-elsewhere-case.ts'
import { showRejoin } from './rejoin-case.ts'
import { steerCases } from './steer-cases.ts'

/** Capabilities about the course of a conversation: restarts, forks, and commands during and between turns. */
export const conversationCases: Pick<
  CapabilityCases,
  | 'background'
  | 'resume'
  | 'fork'
  | 'forkBefore'
  | 'forkElsewhere'
  | 'aside'
  | 'interrupt'
  | 'steer'
  | 'compaction'
  | 'rejoin'
> = {
  background: {
    ...backgroundCase,
    refused: (bench) => refusedCommand(bench, { type: 'task.stop' }),
  },
  resume: {
    title: 'the agent remembers the conversation after a restart, and an open request survives it',
    async shows(bench, { first, second, says }, { permissions }) {
      const session = await bench.session(permissions?.session)
      await (await session.prompt(first)).completed()
      const waiting = permissions && (await session.prompt(permissions.prompt))
      const ask = await waiting?.asked()
      await bench.restart()
      await session.listen()
      if (permissions && waiting && ask) {
        await waiting.decide(ask, 'allow')
        await waiting.completed()
        expect(await bench.file(permissions.effect.path)).toBe(permissions.effect.text)
      }
      const turn = await session.prompt(second)
      await turn.completed()
      expect(turn.said).toContain(says)
    },
  },
  fork: {
    title: 'a fork remembers the conversation before it, and continues separately',
    shared: true,
    async shows(bench, { first, second, says }) {
      const origin = await bench.session()
      await (await origin.prompt(first)).completed()
      const { sessionId } = await origin.command({ type: 'session.fork' })
      const fork = await bench.follow(sessionId ?? '')
      const turn = await fork.prompt(second)
      await turn.completed()
      expect(turn.said).toContain(says)
      const { connection } = await bench.host.state(fork.id)
      expect(connection?.agentSessionId).not.toBe(
        (await bench.host.state(origin.id)).connection?.agentSessionId,
      )
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.fork' }),
  },
  forkBefore: forkBeforeCase,
  forkElsewhere: forkElsewhereCase,
  aside: asideCase,
  interrupt: {
    title: 'a cancelled turn leaves the agent connected',
    shared: true,
    async shows(bench, _scenario, { busy, text }) {
      const { session, turn } = await start(bench, busy)
      await turn.begun()
      await session.command({ type: 'turn.cancel' })
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      await (await session.prompt(text.prompt)).completed()
      expect(session.all('agent.disconnected')).toEqual([])
    },
  },
  steer: {
    title: 'a steered prompt reaches the running turn',
    shared: true,
    async shows(bench, scenario) {
      const { session, turn } = await start(bench, scenario)
      await turn.begun()
      await session.prompt(scenario.words, 'steer')
      scenario.release?.()
      await turn.completed()
      expect(turn.said).toContain(scenario.says)
      expect(session.all('turn.started')).toHaveLength(1)
    },
    more: steerCases,
    refused: (bench) =>
      refusedCommand(bench, { type: 'prompt.submit', text: 'to the left', delivery: 'steer' }),
  },
  compaction: {
    title: 'the context is compacted on command',
    shared: true,
    async shows(bench, _scenario, { text }) {
      const { session } = await play(bench, text)
      const { promptId } = await session.command({ type: 'session.compact' })
      const turn = new Turn(session, promptId ?? '')
      await turn.completed()
      expect(session.all('context.compacted').map((event) => event.trigger)).toEqual(['manual'])
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.compact' }),
  },
  rejoin: {
    title:
      "messages exchanged here and in the agent's own program are recorded once, and the agent remembers all of them",
    shows: showRejoin,
  },
}
