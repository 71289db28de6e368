import { describe, expect, it } from 'vitest'
import { colour, type HostUnderTest, permission } from '../../core/host-under-test.ts'
import { choosing, type EditorUnderTest, everything } from './editor-under-test.ts'
import { aSession, join, logOf } from './face-under-test.ts'

describe('a permission', () => {
  it.each([
    ['allow_once', /once/, 'allowed', 'once'],
    ['allow_always', /session/, 'allowed', 'session'],
    ['allow_always', /in this project$/, 'allowed', 'project'],
    ['allow_always', /Always/, 'allowed', 'always'],
    ['reject_once', /Deny/, 'denied', 'once'],
  ])(
    'answered with %s (%s) is recorded as %s for %s, and only an allowed call runs',
    async (kind, name, outcome, scope) => {
      const { editor, play, world, sessionId } = await aSession()
      editor.answerPermission = choosing(kind, name)
      expect(await play(permission('a'))).toMatchObject({ stopReason: 'end_turn' })
      expect(await resolutions(world, sessionId)).toMatchObject([{ outcome, scope, by: 'person' }])
      expect(world.runs('a')).toBe(outcome === 'allowed' ? 1 : 0)
      const [call] = editor.updates('tool_call')
      expect(editor.permissions).toMatchObject([
        { sessionId, toolCall: { toolCallId: call?.toolCallId, kind: 'edit', rawInput: { path: 'a' } } },
      ])
      const statuses = editor.updates('tool_call_update').map(({ status }) => status)
      expect(statuses.at(-1)).toBe(outcome === 'allowed' ? 'completed' : 'failed')
    },
  )

  it('shows the diff of the call', async () => {
    const { editor, play, world } = await aSession()
    editor.answerPermission = choosing('allow_once')
    const patch = '--- a\n+++ a\n@@ -1,2 +1,2 @@\n same\n-one\n+two\n'
    await play(permission('a', { diffs: [{ path: 'a', patch }] }))
    expect(editor.permissions[0]?.toolCall.content).toEqual([
      { type: 'diff', path: `${world.cwd}/a`, oldText: 'same\none\n', newText: 'same\ntwo\n' },
    ])
  })

  it('is not sent to the editor when a rule decides it', async () => {
    const { editor, play, world } = await aSession()
    editor.answerPermission = choosing('allow_always', /session/)
    await play(permission('a'))
    await play(permission('a'))
    expect(editor.permissions).toHaveLength(1)
    expect(world.runs('a')).toBe(2)
  })

  it('is withdrawn when it is answered elsewhere, and the turn continues', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const turn = play(permission('a'))
    const { toolCall } = await editor.until(() => editor.permissions[0])
    const { requests } = await world.host.state(sessionId)
    await world.host.command(sessionId, {
      type: 'permission.decide',
      commandId: 'elsewhere',
      requestId: requests[0]!.requestId,
      decision: 'deny',
    })
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    await editor.until(() => editor.takenBack.includes(toolCall.toolCallId))
    expect(world.runs('a')).toBe(0)
  })

  it('stays open when a rule forbids it before the editor allows it, and the editor gets a notice', async () => {
    const { editor, play, world, sessionId } = await aSession()
    editor.answerPermission = async (...asked) => {
      await world.host.addRule({ tool: '*', decision: 'deny', scope: 'session', sessionId })
      return choosing('allow_once')(...asked)
    }
    const turn = play(permission('a'))
    const notice = await editor.until(() => editor.updates('notice')[0])
    expect(JSON.stringify(notice)).toContain('A rule refuses')
    const { requests } = await world.host.state(sessionId)
    const requestId = requests[0]!.requestId
    const deny = { type: 'permission.decide', commandId: 'elsewhere', requestId, decision: 'deny' } as const
    await world.host.command(sessionId, deny)
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    expect(world.runs('a')).toBe(0)
  })

  it('is withdrawn when the turn is cancelled', async () => {
    const { editor, play, sessionId } = await aSession()
    const turn = play(permission('a'))
    await editor.until(() => editor.permissions[0])
    await editor.agent.notify('session/cancel', { sessionId })
    expect(await turn).toMatchObject({ stopReason: 'cancelled' })
    await editor.until(() => editor.takenBack[0])
  })

  it('ends the turn when the editor answers "cancelled"', async () => {
    const { editor, play, world } = await aSession()
    editor.answerPermission = () => ({ outcome: { outcome: 'cancelled' } })
    expect(await play(permission('a'))).toMatchObject({ stopReason: 'cancelled' })
    expect(world.runs('a')).toBe(0)
  })

  it('stays open when an editor that did not start the turn answers "cancelled"', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const onlooker = await anotherEditor(world, sessionId)
    onlooker.answerPermission = () => ({ outcome: { outcome: 'cancelled' } })
    const allowed = Promise.withResolvers<void>()
    editor.answerPermission = async (request, signal) => {
      await allowed.promise
      return choosing('allow_once')(request, signal)
    }
    const turn = play(permission('a'))
    await onlooker.until(() => onlooker.permissions[0])
    await allHandled(onlooker)
    allowed.resolve()
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    expect(world.runs('a')).toBe(1)
  })

  it('of a turn that another client started stays open when the editor answers "cancelled"', async () => {
    const { editor, world, sessionId } = await aSession()
    editor.answerPermission = () => ({ outcome: { outcome: 'cancelled' } })
    const text = JSON.stringify([permission('a')])
    await world.host.command(sessionId, { type: 'prompt.submit', commandId: 'elsewhere', text })
    await editor.until(() => editor.permissions[0])
    await allHandled(editor)
    expect(await world.host.state(sessionId)).toMatchObject({ requests: [{ type: 'permission' }] })
    await editor.agent.notify('session/cancel', { sessionId })
    await editor.until(() => editor.updates('tool_call_update').some(({ status }) => status === 'failed'))
    expect(world.runs('a')).toBe(0)
  })

  it('that the editor cannot show leads to a notice that says where to answer it', async () => {
    const { editor, play, world, sessionId } = await aSession()
    editor.answerPermission = () => Promise.reject(new Error('no dialogs today'))
    const turn = play(permission('a'))
    const notice = await editor.until(() => editor.updates('notice')[0])
    expect(notice).toMatchObject({
      severity: 'warning',
      description: `Answer it in another client: attach ${sessionId}`,
    })
    const { requests } = await world.host.state(sessionId)
    const requestId = requests[0]!.requestId
    await world.host.command(sessionId, {
      type: 'permission.decide',
      commandId: 'elsewhere',
      requestId,
      decision: 'allow',
    })
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
  })

  it('for a plan shows the plan', async () => {
    const { editor, play } = await aSession()
    editor.answerPermission = choosing('allow_once')
    await play({ type: 'plan-approval', plan: '1. This\n2. That' })
    expect(editor.permissions[0]?.toolCall).toMatchObject({
      kind: 'switch_mode',
      content: [{ type: 'content', content: { type: 'text', text: '1. This\n2. That' } }],
    })
  })
})

describe('a question', () => {
  const both = {
    type: 'question',
    questions: [
      ...colour.questions,
      {
        id: 'more',
        header: 'More',
        text: 'What else?',
        options: [{ label: 'a' }, { label: 'b' }],
        multiple: true,
        freeText: true,
      },
    ],
  }

  it('is sent as a form to an editor with forms', async () => {
    const { editor, play, world, sessionId } = await aSession()
    editor.answerForm = () => ({
      action: 'accept',
      content: { colour: 'blue', more: ['a'], more_custom: 'own' },
    })
    expect(await play(both)).toMatchObject({ stopReason: 'end_turn' })
    expect(editor.forms[0]).toMatchObject({
      mode: 'form',
      sessionId,
      requestedSchema: {
        properties: {
          colour: { type: 'string', oneOf: [{ const: 'red' }, { const: 'blue' }] },
          more: { type: 'array', items: { anyOf: [{ const: 'a' }, { const: 'b' }] } },
          more_custom: { type: 'string' },
        },
        required: ['colour'],
      },
    })
    expect(await answers(world, sessionId)).toEqual([{ colour: 'blue', more: ['a', 'own'] }])
  })

  it('is asked again when the form is incomplete', async () => {
    const { editor, play, world, sessionId } = await aSession()
    editor.answerForm = () => ({
      action: 'accept',
      content: editor.forms.length === 1 ? { colour: 'blue' } : { colour: 'blue', more_custom: 'own' },
    })
    await play(both)
    expect(editor.forms.map(({ message }) => message)).toEqual([
      'Scripted asks:',
      'Scripted asks (question more has no answer):',
    ])
    expect(await answers(world, sessionId)).toEqual([{ colour: 'blue', more: ['own'] }])
  })

  it('with one choice is sent as a permission to an editor without forms', async () => {
    const { editor, play, world, sessionId } = await aSession({ capabilities: {} })
    editor.answerPermission = choosing('allow_once', /blue/)
    expect(await play(colour)).toMatchObject({ stopReason: 'end_turn' })
    expect(editor.permissions[0]).toMatchObject({ toolCall: { title: 'Which colour?' } })
    expect(await answers(world, sessionId)).toEqual([{ colour: 'blue' }])
  })

  it('that takes free text leads to a notice in an editor without forms, and can be answered elsewhere', async () => {
    const { editor, play, world, sessionId } = await aSession({ capabilities: {} })
    const turn = play(both)
    const reported = await editor.until(
      () => JSON.stringify(editor.updates('agent_thought_chunk')).match(/What else\?.*attach \w+/)?.[0],
    )
    expect(reported).toContain(sessionId)
    const { requests } = await world.host.state(sessionId)
    await world.host.command(sessionId, {
      type: 'question.answer',
      commandId: 'elsewhere',
      requestId: requests[0]!.requestId,
      answers: { colour: 'red', more: ['b'] },
    })
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
  })

  it.each(['cancel', 'decline'] as const)(
    'stays open when an editor that did not start the turn answers %s',
    async (action) => {
      const { editor, play, world, sessionId } = await aSession()
      const onlooker = await anotherEditor(world, sessionId)
      onlooker.answerForm = () => ({ action })
      const answered = Promise.withResolvers<void>()
      editor.answerForm = async () => {
        await answered.promise
        return { action: 'accept', content: { colour: 'blue' } }
      }
      const turn = play(colour)
      await onlooker.until(() => onlooker.forms[0])
      await allHandled(onlooker)
      answered.resolve()
      expect(await turn).toMatchObject({ stopReason: 'end_turn' })
      expect(await answers(world, sessionId)).toEqual([{ colour: 'blue' }])
    },
  )

  it('that is declined ends the turn, or is answered with a refusal if it takes free text', async () => {
    const { editor, play, world, sessionId } = await aSession()
    editor.answerForm = () => ({ action: 'decline' })
    expect(await play(colour)).toMatchObject({ stopReason: 'cancelled' })
    const open = { ...colour, questions: colour.questions.map((one) => ({ ...one, freeText: true })) }
    expect(await play(open)).toMatchObject({ stopReason: 'end_turn' })
    expect(await answers(world, sessionId)).toEqual([
      undefined,
      { colour: 'I would rather not answer this.' },
    ])
  })
})

async function anotherEditor(world: HostUnderTest, sessionId: string): Promise<EditorUnderTest> {
  const { editor } = join(world)
  await editor.introduce(everything)
  await editor.agent.request('session/load', { sessionId, cwd: world.cwd, mcpServers: [] })
  return editor
}

/** Sends two more requests of the editor: once they are answered, all earlier messages of the editor were handled. */
async function allHandled({ agent }: EditorUnderTest): Promise<void> {
  for (let asked = 0; asked < 2; asked++) await agent.request('session/list', {})
}

async function resolutions(world: HostUnderTest, sessionId: string) {
  return (await logOf(world, sessionId)).filter(({ type }) => type === 'permission.resolved')
}

async function answers(world: HostUnderTest, sessionId: string) {
  const log = await logOf(world, sessionId)
  return log.flatMap((event) => (event.type === 'question.resolved' ? [event.answers] : []))
}
