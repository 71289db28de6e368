import { expect } from '../expect.ts'
import { type CapabilityCases, nothingToRefuse, refusalOf, start } from './capability-case.ts'

/** Capabilities about an agent's requests to a person. */
export const requestCases: Pick<CapabilityCases, 'permissions' | 'editInput' | 'questions' | 'planApproval'> =
  {
    permissions: {
      title: 'a call waits for its permission, and takes effect once',
      shared: true,
      async shows(bench, scenario) {
        const { session, turn } = await start(bench, scenario)
        const ask = await turn.asked()
        expect(await bench.file(scenario.effect.path)).toBeUndefined()
        expect((await bench.host.state(session.id)).status).toBe('waiting')
        await turn.decide(ask, 'allow')
        await turn.completed()
        expect(await bench.file(scenario.effect.path)).toBe(scenario.effect.text)
        expect(turn.all('tool-call.ended').map((event) => event.outcome)).toContain('completed')
      },
    },
    editInput: {
      title: 'a call runs with the input that a person has edited',
      shared: true,
      async shows(bench, scenario) {
        const { turn } = await start(bench, scenario)
        await turn.decide(await turn.asked(), 'allow', { input: scenario.input })
        await turn.completed()
        expect(await bench.file(scenario.effect.path)).toBe(scenario.effect.text)
      },
      async refused(bench, { permissions }) {
        if (!permissions) return nothingToRefuse
        const { turn } = await start(bench, permissions)
        const ask = await turn.asked()
        const refusal = await refusalOf(turn.decide(ask, 'allow', { input: { edited: true } }))
        await turn.decide(ask, 'deny')
        await turn.ended()
        return refusal
      },
    },
    questions: {
      title: 'a question is asked, and the answer reaches the agent',
      shared: true,
      async shows(bench, scenario) {
        const { session, turn } = await start(bench, scenario)
        const asked = await turn.first(() => turn.all('question.asked')[0], 'a question', 'questions')
        const { requestId, questions } = asked
        await session.command({ type: 'question.answer', requestId, answers: scenario.answers(questions) })
        await turn.completed()
        expect(turn.said).toContain(scenario.says)
      },
    },
    planApproval: {
      title: 'a plan is shown to a person; when approved, it runs in the mode ask',
      async shows(bench, scenario) {
        const { session, turn } = await start(bench, scenario)
        const ask = await turn.asked()
        expect(ask.kind).toBe('plan')
        await turn.decide(ask, 'allow')
        await turn.completed()
        const { requested, effective } = await bench.host.state(session.id)
        expect([requested.mode, effective.mode]).toEqual(['ask', 'ask'])
      },
    },
  }
