import { replaying } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { hostUnderTest } from '../../core/host-under-test.ts'
import { expectRecorded, type ReplayedRecordings, recordingsHold } from '../../testing/recordings.ts'
import { allOutputs, fixtureNames, readFixture, translateFixture } from './fixtures-under-test.ts'

/** The texts in the log of each recording: every text once, in order. */
const texts: Record<string, string[]> = {
  text: ['Hello, this is the model speaking.'],
  'two-turns': ['The first answer.', 'The second answer.'],
  thinking: ['So it is four.'],
  'structured-output': ['{"count":2}'],
  'plan-mode': ['- First this.\n- Then that.\n'],
  'plan-tool': ['One of two is done.'],
  compact: ['To be forgotten.', 'I remember a summary.'],
  steering: ['I heard you.'],
  resume: ['The first process speaks.', 'The second process speaks.'],
  'command-allowed': ['Let me run it.', 'Two lines.'],
  'command-denied': ['Let me run it.', 'Then I leave it.'],
  'command-failed': ['It failed.'],
  'command-output': ['It counted.'],
  'command-background': ['It runs.', 'Still here.'],
  'terminal-input': ['It said hello.'],
  'parallel-commands': ['Both at once.', 'Both ran.'],
  patch: ['The poem is better now.'],
  'patch-denied': ['Then not.'],
  'view-image': ['One dot.'],
  'mcp-tool': ['Parsley, and a failure.'],
  'mcp-asks': ['Blue it is.'],
  question: ['Blue it is.'],
  subagent: ['I ask another.', 'I look.', 'There are three stars.', 'Three, it says.'],
  'subagent-first-kind': ['I ask another.', 'There are three stars.', 'Three, it says.'],
  'interrupt-text': [expect.stringMatching(/^This answer/), 'Still here.'],
  'interrupt-command': [],
  'interrupt-permission': [],
  'deny-and-stop': [],
  'error-400': [],
  'error-429': [],
  'error-500': ['The third attempt worked.'],
  'stream-cut': ['The second attempt is whole.'],
}

const outcomes: Record<string, string[]> = {
  'two-turns': ['completed', 'completed'],
  compact: ['completed', 'completed', 'completed'],
  resume: ['completed', 'completed'],
  'command-background': ['completed', 'completed'],
  'interrupt-text': ['cancelled', 'completed'],
  'interrupt-command': ['cancelled'],
  'interrupt-permission': ['cancelled'],
  'deny-and-stop': ['cancelled'],
  'error-400': ['failed'],
  'error-429': ['failed'],
}

const recordings: ReplayedRecordings = {
  names: fixtureNames,
  texts,
  outcomes,
  traces: /\/tmp\/parley|\/root\/\.|(?<!\/somewhere)\/home\/|\/Users\/|\/work\/|parley-record|localhost/,
  read: readFixture,
  outputs: allOutputs,
}

recordingsHold(recordings)

describe.each(fixtureNames)('the replayed recording %s', (name) => {
  it('gives a valid log with every text once', async () => {
    const turns = translateFixture(name)
    await using under = await hostUnderTest({ adapter: (scripted) => replaying(scripted, turns) })
    const session = await under.create()
    for (const _ of turns) {
      await session.command({ type: 'prompt.submit', text: 'as recorded' })
      await session.idle()
    }
    await expectRecorded(session, recordings, name)
  })
})
