import { outputsOf, replaying } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { hostUnderTest } from '../../core/host-under-test.ts'
import { expectRecorded, type ReplayedRecordings, recordingsHold } from '../../testing/recordings.ts'
import { allOutputs, fixtureNames, readFixture, translateFixture } from './fixtures-under-test.ts'

/** The texts in the log of each recording: every text once, in order. */
const texts: Record<string, string[]> = {
  text: ['Hello, this is the model speaking.'],
  'two-turns': ['The first answer.', 'The second answer.'],
  thinking: ['So it is four.'],
  'no-partials': ['Let me see.', 'It is one.'],
  'tool-allowed': ['Let me run it.', 'It printed two lines.'],
  'tool-denied': ['Let me run it.', 'Then I leave it.'],
  'tool-denied-by-rule': ['It was not allowed.'],
  'tool-failed': ['It failed.'],
  'parallel-tools': ['Both at once.', 'Both ran.'],
  edit: ['The poem is better now.'],
  'read-image': ['One dot.'],
  'image-prompt': ['A dot.'],
  question: ['Blue it is.'],
  plan: ['The plan is accepted.'],
  'plan-rejected': ['I plan anew.'],
  'mode-changed': ['Asking.', 'Not asking.'],
  subagent: [
    'I ask a subagent.',
    'I look at it.',
    'There are three stars.',
    'The subagent is at work or done.',
  ],
  'subagent-quiet': ['I ask a subagent.', 'The subagent is at work or done.'],
  'subagent-background': [
    'I ask a subagent.',
    'I look at it.',
    'The subagent is at work or done.',
    'There are three stars.',
    'The subagent found three stars.',
  ],
  'subagent-asks-late': [
    'I ask a subagent.',
    'The subagent is at work.',
    'I look at it.',
    'There are three stars.',
    'The subagent found three stars.',
    'Noted.',
  ],
  'command-background': ['It runs in the background.', 'The command is ready.'],
  'prompt-during-background': [
    'It runs in the background.',
    'The command is ready.',
    'And this is the answer to you.',
  ],
  steering: ['I heard you while I worked.'],
  'steer-late': ['This is the whole answer.', 'To the left.'],
  'steer-interrupted': [expect.stringMatching(/^This is/), 'To the left.'],
  'task-tools': ['One of two is done.'],
  todos: ['Noted.'],
  compact: ['The first answer, to be forgotten.', 'I remember a summary.'],
  clear: ['Before.', 'After.'],
  'command-output': [expect.stringMatching(/ cost: +\$0\.0000/)],
  'interrupt-text': [expect.stringMatching(/^This answer is going/), 'Still here.'],
  'interrupt-tool': [],
  'interrupt-permission': [],
  'deny-and-stop': [],
  'error-500': ['The second attempt worked.'],
  'error-429': ['Now it goes.'],
  'error-400': [],
  'error-in-stream': [expect.stringMatching(/^This answer ends/)],
  'stream-cut': ['The second attempt is whole.'],
  'stream-cut-twice': ['The attempt without a stream is whole.'],
  'max-turns': [],
  'structured-output': [],
  resume: ['The first process speaks.', 'The second process speaks.'],
  'resume-unknown': [],
  deferred: ['It ran after the restart.'],
  'mcp-tool': ['Five, and a failure.'],
  hook: ['Hello.'],
}

const outcomes: Record<string, string[]> = {
  'two-turns': ['completed', 'completed'],
  'interrupt-text': ['cancelled', 'completed'],
  'interrupt-tool': ['cancelled'],
  'interrupt-permission': ['cancelled'],
  'deny-and-stop': ['cancelled'],
  'error-500': ['completed', 'failed'],
  'error-400': ['failed'],
  'error-in-stream': ['failed'],
  'max-turns': ['failed'],
  'mode-changed': ['completed', 'completed'],
  'prompt-during-background': ['completed', 'completed', 'completed'],
  'subagent-background': ['completed', 'completed'],
  'subagent-asks-late': ['completed', 'completed'],
  'command-background': ['completed', 'completed'],
  'steer-late': ['completed', 'completed'],
  'steer-interrupted': ['cancelled', 'completed'],
  compact: ['completed', 'completed', 'completed'],
  clear: ['completed', 'completed', 'completed'],
  resume: ['completed', 'completed'],
  'resume-unknown': ['failed'],
  deferred: ['completed'],
}

const recordings: ReplayedRecordings = {
  names: fixtureNames,
  texts,
  outcomes,
  traces: /\/tmp\/|\/root\/|\/Users\/|parley-claude|localhost/,
  read: readFixture,
  outputs: allOutputs,
}

recordingsHold(recordings)

describe.each(fixtureNames)('the replayed recording %s', (name) => {
  it('streams the input of every call as it is recorded', () => {
    const outputs = allOutputs(name)
    const streamed = new Map<string, string>()
    for (const { toolCallId, text } of outputsOf(outputs, 'tool-call.input-streamed')) {
      streamed.set(toolCallId, (streamed.get(toolCallId) ?? '') + text)
    }
    for (const { toolCallId, input } of outputsOf(outputs, 'tool-call.called')) {
      const json = streamed.get(toolCallId)
      expect(json === undefined || input).toMatchObject(json ? JSON.parse(json) : true)
    }
    expect(outputs.length).toBeGreaterThan(0)
  })

  it('gives a valid log with every text once', async () => {
    const turns = translateFixture(name)
    await using under = await hostUnderTest({ adapter: (scripted) => replaying(scripted, turns) })
    const session = await under.create()
    for (const turn of turns) {
      await session.command({ type: 'prompt.submit', text: 'as recorded' })
      if (outputsOf(turn, 'turn.ended').length > 0) await session.idle()
      else await session.when((state) => state.connection?.tools !== undefined)
    }
    const last = turns.at(-1)?.findLast(({ type }) => type === 'usage.measured')
    if (last?.type === 'usage.measured')
      await session.when(({ usage }) => usage?.total.input === last.total.input)
    await expectRecorded(session, recordings, name)
  })
})
