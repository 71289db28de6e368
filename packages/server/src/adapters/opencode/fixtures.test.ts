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
  'image-prompt': ['A dot.'],
  effort: ['Thought hard.'],
  plan: ['This is the plan.'],
  'structured-output': [],
  title: ['Hello.'],
  command: ['Of parsley.'],
  'command-subtask': ['I saw a star.', 'A star, it says.'],
  compact: ['The first answer, to be forgotten.', 'I remember a summary.'],
  'compact-auto': ['I go on.'],
  steering: ['I heard you while I worked.'],
  'interrupt-text': [expect.stringMatching(/^This answer is/), 'Still here.'],
  'interrupt-tool': [],
  'interrupt-permission': [],
  'tool-allowed': ['Let me run it.', 'It printed two lines.'],
  'tool-denied': ['Let me run it.', 'Then I leave it.'],
  'tool-denied-with-others': ['Neither.'],
  'tool-failed': ['It failed.'],
  'tool-unknown': ['There is no such tool.'],
  'parallel-tools': ['Both at once.', 'Both ran.'],
  edit: ['The poem is better now.'],
  'read-image': ['One dot.'],
  'outside-the-folder': ['Seen.'],
  question: ['Blue it is.'],
  todos: ['One of two is done.'],
  subagent: ['I ask a subagent.', 'I look at it.', 'There are three stars.', 'Three, it says.'],
  'mcp-tool': ['It echoed.'],
  'same-call-again': ['Three times the same.'],
  'error-400': [],
  'error-401': [],
  'error-500': ['The second attempt worked.'],
  'model-unknown': [],
  'stream-broken': ['The second attempt is whole.'],
}

const outcomes: Record<string, string[]> = {
  'two-turns': ['completed', 'completed'],
  compact: ['completed', 'completed', 'completed'],
  'interrupt-text': ['cancelled', 'completed'],
  'interrupt-tool': ['cancelled'],
  'interrupt-permission': ['cancelled'],
  'error-400': ['failed'],
  'error-401': ['failed'],
  'model-unknown': ['failed'],
}

const recordings: ReplayedRecordings = {
  names: fixtureNames,
  texts,
  outcomes,
  traces: /\/tmp\/|\/root\/|\/Users\/|parley-opencode|localhost/,
  read: readFixture,
  outputs: allOutputs,
}

recordingsHold(recordings)

describe.each(fixtureNames)('the replayed recording %s', (name) => {
  it('ends every turn once', () => {
    const ends = translateFixture(name).map((turn) => outputsOf(turn, 'turn.ended').length)
    expect(ends).toEqual(ends.map(() => 1))
  })

  it('gives a valid log with every text once', async () => {
    const turns = translateFixture(name)
    await using under = await hostUnderTest({ adapter: (scripted) => replaying(scripted, turns) })
    const session = await under.create()
    for (const turn of turns) {
      await session.command({ type: 'prompt.submit', text: 'as recorded' })
      await session.idle()
      expect(outputsOf(turn, 'turn.ended')).toHaveLength(1)
    }
    await expectRecorded(session, recordings, name)
  })
})
