import { replaying } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { hostUnderTest } from '../../core/host-under-test.ts'
import { expectRecorded, type ReplayedRecordings, recordingsHold } from '../../testing/recordings.ts'
import { allOutputs, fixtureNames, readFixture, translateFixture } from './fixtures-under-test.ts'

/** The texts in the log of each recording: every text once, in order. */
const texts: Record<string, unknown[]> = {
  'gemini-text': ['Hello, this is the model speaking.', 'The second answer.'],
  'gemini-thinking': ['Four.'],
  'gemini-tool-allowed': ['It is written.'],
  'gemini-tool-denied': ['Then I leave it.'],
  'gemini-tool-failed': ['It failed.'],
  'gemini-parallel': ['One of two.'],
  'gemini-edit': ['The poem is better now.'],
  'gemini-cancelled': ['Still here.'],
  'gemini-plan': ['The plan is accepted.'],
  'gemini-mcp': ['It said parsley.'],
  'gemini-prompt-parts': ['A dot, and two files.'],
  'gemini-command': [expect.stringContaining('Gemini CLI Help')],
  'gemini-configured': ['Planning.', 'Not planning.'],
  'gemini-load': ['It is touched.'],
  'gemini-error-500': [],
  'gemini-error-429': [],
  'gemini-stream-cut': [expect.stringMatching(/^This answer/), 'Still here.'],
  'claude-text': ['Hello, this is the model speaking.', 'The second answer.'],
  'claude-thinking': ['Four.'],
  'claude-tool-allowed': ['It is written.'],
  'claude-tool-denied': ['Then I leave it.'],
  'claude-tool-failed': ['It failed.'],
  'claude-parallel': ['Both ran.'],
  'claude-edit': ['The poem is better now.'],
  'claude-question': ['Blue it is.'],
  'claude-todos': ['Noted.'],
  'claude-plan': ['The plan is accepted.'],
  'claude-subagent': ['I see nothing.', 'The subagent saw nothing.'],
  'claude-cancelled': ['Still here.'],
  'claude-mcp': ['It said parsley.'],
  'claude-compact': ['To be forgotten.', 'I remember.'],
  'claude-configured': ['As you like.'],
  'claude-load': ['The second process speaks.'],
  'claude-error-429': [expect.stringContaining('Too many requests.')],
  'codex-text': ['Hello, this is the model speaking.'],
  'codex-command': ['It is written.'],
  'codex-denied': [],
  'codex-plan': ['First this.\n', 'It is done.'],
  'opencode-text': ['Hello, this is the model speaking.'],
  'opencode-edit': ['The poem is better now.'],
  'opencode-denied': [],
  'qwen-text': ['Hello, this is the model speaking.'],
  'qwen-command': ['It is written.'],
  'qwen-denied': [],
  'qwen-question': ['Blue it is.'],
}

const outcomes: Record<string, string[]> = {
  'gemini-text': ['completed', 'completed'],
  'gemini-cancelled': ['cancelled', 'completed'],
  'gemini-configured': ['completed', 'completed'],
  'gemini-error-500': ['failed'],
  'gemini-error-429': ['failed'],
  'gemini-stream-cut': ['failed', 'completed'],
  'claude-text': ['completed', 'completed'],
  'claude-cancelled': ['cancelled', 'completed'],
  'claude-compact': ['completed', 'completed', 'completed'],
  'claude-error-429': ['failed'],
  'codex-denied': ['cancelled'],
}

/** The outcome of each call of a recording, by the name of its tool. */
const calls: Record<string, string[]> = {
  'gemini-tool-allowed': ['run_shell_command completed'],
  'gemini-tool-denied': ['run_shell_command denied'],
  'gemini-tool-failed': ['run_shell_command failed'],
  'gemini-parallel': ['run_shell_command denied', 'read_file completed'],
  'gemini-edit': ['replace completed', 'write_file completed'],
  'gemini-cancelled': ['run_shell_command cancelled'],
  'gemini-plan': ['write_file completed', 'exit_plan_mode completed'],
  'gemini-mcp': ['mcp_echo_say completed'],
  'gemini-load': ['run_shell_command completed'],
  'claude-tool-allowed': ['Bash completed'],
  'claude-tool-denied': ['Bash denied'],
  'claude-tool-failed': ['Bash failed'],
  'claude-parallel': ['Bash completed', 'Bash completed'],
  'claude-edit': ['Read completed', 'Edit completed', 'Write completed'],
  'claude-question': ['AskUserQuestion completed'],
  'claude-plan': ['ExitPlanMode completed'],
  'claude-subagent': ['Agent completed'],
  'claude-cancelled': ['Bash cancelled'],
  'claude-mcp': ['mcp__echo__say completed'],
  'codex-command': ['exec_command completed', 'execute failed'],
  'codex-denied': ['execute denied'],
  'codex-plan': ['plan-review completed'],
  'opencode-edit': ['read completed', 'edit completed'],
  'opencode-denied': ['execute denied'],
  'qwen-command': ['run_shell_command completed'],
  'qwen-denied': ['run_shell_command denied'],
  'qwen-question': ['ask_user_question completed'],
}

const recordings: ReplayedRecordings = {
  names: fixtureNames,
  texts,
  outcomes,
  traces: /(?<!\w)\/tmp\/|\/root\/|\/Users\/|parley-acp|localhost/,
  streamsAll: true,
  read: readFixture,
  outputs: allOutputs,
}

recordingsHold(recordings)

describe.each(fixtureNames)('the replayed recording %s', (name) => {
  it('gives a valid log with every text once', async () => {
    const parts = translateFixture(name)
    await using under = await hostUnderTest({
      adapter: (scripted) => replaying(scripted, parts.slice(1), parts[0]),
    })
    const session = await under.create()
    for (const _ of parts.slice(1)) {
      await session.command({ type: 'prompt.submit', text: 'as recorded' })
      await session.idle()
    }
    const log = await expectRecorded(session, recordings, name)
    const names = new Map(
      log.flatMap((event) =>
        event.type === 'tool-call.called' ? [[event.toolCallId, event.name] as const] : [],
      ),
    )
    const ended = log.flatMap((event) =>
      event.type === 'tool-call.ended' ? [`${names.get(event.toolCallId)} ${event.outcome}`] : [],
    )
    expect(ended).toEqual(calls[name] ?? [])
  })
})
