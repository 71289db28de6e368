import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { CodexUnderTest } from './codex-under-test.ts'

const codex = new CodexUnderTest(await AgentHome.forFile({ answers: 'script' }))

it('a text that a steered prompt interrupts precedes the answer to that prompt', async () => {
  answerByPrompt(codex.server)
  await codex.play(async (bench) => {
    const session = await bench.session()
    const hold = codex.server.hold(5)
    const turn = await session.prompt(modelPrompt('Count.', { content: 'One, two, three, four, five, six.' }))
    await hold.reached
    await turn.begun()
    await session.prompt(modelPrompt('To the left.', { content: 'Left it is.' }), 'steer')
    await turn.completed()
    hold.release()
    expect(turn.all('text.written')).toMatchObject([
      { text: expect.stringMatching(/^One/), interrupted: true },
      { text: 'Left it is.' },
    ])
  })
})

it('a steered prompt for a turn that cannot be steered begins the next turn', async () => {
  answerByPrompt(codex.server)
  await codex.play(async (bench) => {
    const session = await bench.session()
    await (await session.prompt(modelPrompt('Hello.', { content: 'Hello there.' }))).completed()
    const hold = codex.server.hold(0)
    await session.command({ type: 'session.compact' })
    await hold.reached
    const { promptId } = await session.prompt(
      modelPrompt('To the left.', { content: 'Left it is.' }),
      'steer',
    )
    hold.release()
    const next = await session.until(() => session.all('turn.started')[2])
    expect(next).toMatchObject({ promptId, cause: { by: 'steer' } })
    await session.until(() => session.all('turn.ended')[2])
    expect(session.all('text.written').at(-1)).toMatchObject({ turnId: next.turnId, text: 'Left it is.' })
  })
})
