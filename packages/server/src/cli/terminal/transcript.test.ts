import { type Delta, decodeEvent, type SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createStyle, isColoured } from './style.ts'
import { type Piece, Transcript, type TranscriptOptions } from './transcript.ts'
import { oneLine, visible } from './visible.ts'

const style = createStyle(false)
const terminal = { isOutTerminal: true, isErrTerminal: true }
const pipes = { isOutTerminal: false, isErrTerminal: false }
const transcript = (options: Partial<TranscriptOptions> = {}) =>
  new Transcript({ style, ...terminal, columns: () => 60, prompts: false, ...options })

let seq = 0
type Fields = { type: SessionEvent['type'] } & Record<string, unknown>
const event = (fields: Fields) =>
  ({ seq: ++seq, at: 1000, sessionId: 's', turnId: 't', ...fields }) as unknown as SessionEvent
const written = (blockId: string, text: string, more = {}) =>
  event({ type: 'text.written', blockId, text, ...more })
const streamed = (blockId: string, offset: number, text: string): Delta => ({
  type: 'text.streamed',
  blockId,
  offset,
  text,
})
const called = (toolCallId: string, title = 'npm test', more = {}) =>
  event({ type: 'tool-call.called', toolCallId, name: 'Bash', kind: 'execute', title, input: {}, ...more })
const ended = (toolCallId: string, outcome = 'completed', content: unknown[] = []) =>
  event({ type: 'tool-call.ended', toolCallId, outcome, content })
const textTo = (to: 'out' | 'err', pieces: Piece[]) =>
  pieces
    .filter((piece) => piece.to === to)
    .map((piece) => piece.text)
    .join('')

describe("the agent's text", () => {
  it('is written once, however much of a block was streamed', () => {
    const one = transcript(pipes)
    const pieces = [
      ...one.delta(streamed('a', 0, 'Hello ')),
      ...one.delta(streamed('a', 0, 'Hello wor')),
      ...one.event(written('a', 'Hello world')),
      ...one.event(written('b', 'Again')),
    ]
    expect(textTo('out', pieces)).toBe('Hello world\n\nAgain\n')
  })

  it('is complete even if a delta is missing', () => {
    const one = transcript(pipes)
    const pieces = [
      ...one.delta(streamed('a', 0, 'He')),
      ...one.delta(streamed('a', 5, ' world')),
      ...one.event(written('a', 'Hello world')),
    ]
    expect(textTo('out', pieces)).toBe('Hello world\n')
  })

  it('of another block does not mix with the one that streams', () => {
    const one = transcript(pipes)
    const pieces = [
      ...one.delta(streamed('a', 0, 'one ')),
      ...one.delta(streamed('b', 0, 'two')),
      ...one.event(written('a', 'one more')),
      ...one.event(written('b', 'two')),
    ]
    expect(textTo('out', pieces)).toBe('one more\n\ntwo\n')
  })

  it('is separate from rows: in a pipe nothing else is on stdout', () => {
    const one = transcript(pipes)
    const pieces = [
      ...one.delta(streamed('a', 0, 'I run ')),
      ...one.event(called('c')),
      ...one.event(ended('c')),
      ...one.event(written('a', 'I run it.')),
      ...one.event(event({ type: 'thinking.written', blockId: 'h', text: 'hm' })),
      ...one.event(written('d', 'from a subagent', { parentToolCallId: 'c' })),
    ]
    expect(textTo('out', pieces)).toBe('I run it.\n')
    expect(textTo('err', pieces)).toBe('✓ execute npm test · completed\n')
  })

  it('cannot send control sequences to the terminal', () => {
    const pieces = transcript().event(written('a', 'x\u001b[2Jy\u009bz\rq\u202e'))
    expect(textTo('out', pieces)).toBe('x␛[2Jy\\u{9b}z␍q\\u{202e}\n')
  })
})

describe('rows', () => {
  it('replace the row of the running call', () => {
    const one = transcript()
    expect(one.event(called('c'))).toEqual([{ to: 'err', text: '… execute npm test\n' }])
    expect(one.event(ended('c'))).toEqual([
      { to: 'err', text: '✓ execute npm test · completed\n', overRow: true },
    ])
  })

  it('fit on one line', () => {
    const [piece] = transcript().event(called('c', `echo ${'long '.repeat(50)}\nand more`))
    expect(piece?.text.length).toBeLessThanOrEqual(60)
    expect(piece?.text.split('\n')).toHaveLength(2)
  })

  it('contain the error of a failed tool, and the outcome of a turn', () => {
    const one = transcript(pipes)
    const pieces = [
      ...one.event(called('c')),
      ...one.event(ended('c', 'failed', [{ type: 'text', text: 'no such file' }])),
      ...one.event(
        event({
          type: 'turn.ended',
          outcome: 'failed',
          stopReason: 'error',
          durationMs: 1234,
          error: { code: 'agent_failed', message: 'It broke.' },
        }),
      ),
    ]
    expect(textTo('err', pieces)).toBe(
      '✗ execute npm test · failed\n    no such file\nfailed: It broke. · 1.2 s\n',
    )
  })

  it("show the end of a command's output, and more of a failure", () => {
    const one = transcript(pipes)
    const output = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join('\n')
    one.event(called('c'))
    const fine = textTo('err', one.event(ended('c', 'completed', [{ type: 'terminal', output }])))
    expect(fine.split('\n').slice(1, 3)).toEqual(['    … 30 lines before', '    line 31'])
    expect(fine.trimEnd().endsWith('line 40')).toBe(true)
    one.event(called('d'))
    const bad = textTo('err', one.event(ended('d', 'failed', [{ type: 'text', text: output }])))
    expect(bad.split('\n').slice(1, 3)).toEqual(['    … 10 lines before', '    line 11'])
    one.event(called('r', 'a.txt', { kind: 'read' }))
    const read = textTo('err', one.event(ended('r', 'completed', [{ type: 'text', text: output }])))
    expect(read.trimEnd().split('\n')).toHaveLength(1)
  })

  it('show colours and redrawn lines of a command in their final form', () => {
    const one = transcript(pipes)
    one.event(called('c'))
    const output = '\u001b[32m10%\r50%\r100%\u001b[0m\r\ndone\r\n'
    expect(textTo('err', one.event(ended('c', 'completed', [{ type: 'terminal', output }])))).toContain(
      '\n    100%\n    done\n',
    )
  })

  it('show a diff once: with its permission request, or otherwise under the row of the call', () => {
    const diff = { path: 'a.txt', before: 'one\n', after: 'two\n' }
    const asked = event({
      type: 'permission.requested',
      requestId: 'r',
      title: 'a.txt',
      diff,
      toolCallId: 'c',
    })
    const allowed = event({ type: 'permission.resolved', requestId: 'r', outcome: 'allowed', by: 'person' })
    const lines = (options: Partial<TranscriptOptions>, events: SessionEvent[]) => {
      const one = transcript({ ...pipes, ...options })
      const all = [called('c', 'a.txt', { kind: 'edit' }), ...events]
      return textTo(
        'err',
        [...all, ended('c', 'completed', [{ type: 'diff', ...diff }])].flatMap((each) => one.event(each)),
      )
    }
    expect(lines({}, [])).toContain('    -one\n    +two\n')
    expect(lines({ asks: false }, [asked, allowed])).toContain('+two')
    expect(lines({ asks: true }, [asked, allowed])).not.toContain('+two')
  })

  it('show an answer, and a carried answer only once', () => {
    const one = transcript(pipes)
    const questions = [
      { id: 'q', header: 'Colour', text: 'Which?', options: [], multiple: false, freeText: true },
    ]
    one.event(event({ type: 'question.asked', requestId: 'r', questions }))
    const answer = {
      type: 'question.resolved' as const,
      outcome: 'answered',
      by: 'person',
      answers: { q: 'red' },
    }
    expect(textTo('err', one.event(event({ ...answer, requestId: 'r' })))).toBe(
      '· answered Colour: red (by a person)\n',
    )
    expect(one.event(event({ ...answer, requestId: 's', carriedFrom: 'r' }))).toEqual([])
  })

  it('contain the resolution of a request, without details for programs', () => {
    const rows = (...events: SessionEvent[]) => {
      const one = transcript(pipes)
      return textTo(
        'err',
        events.flatMap((each) => one.event(each)),
      )
    }
    const asked = event({ type: 'permission.requested', requestId: 'r', title: 'npm test' })
    const settled = (by: string, more: object = {}) =>
      event({ type: 'permission.resolved', requestId: 'r', outcome: 'allowed', by, ...more })
    expect(rows(asked, settled('person', { carriedFrom: 'q' }))).toBe('')
    expect(['person', 'rule', 'mode'].map((by) => rows(asked, settled(by)))).toEqual([
      '· allowed npm test (by a person)\n',
      '· allowed npm test (by a rule)\n',
      '· allowed npm test (by the mode)\n',
    ])
    expect(rows(asked, settled('turn-end', { outcome: 'cancelled' }))).toBe(
      '· cancelled npm test (because the turn ended first)\n',
    )
    expect(rows(asked, settled('timeout', { outcome: 'denied' }))).toBe(
      '· denied npm test (because nobody answered in time)\n',
    )
    expect(rows(called('c', 'Ask a question', { kind: 'other' }), ended('c'))).toBe(
      '✓ Ask a question · completed\n',
    )
    const notice = event({
      type: 'agent.noticed',
      level: 'warning',
      code: 'api-retry',
      text: 'Trying again.',
    })
    expect(rows(notice)).toBe('warning: Trying again.\n')
    expect(rows(event({ type: 'agent.disconnected', reason: 'crashed' }))).toBe(
      "error: The agent's process exited unexpectedly.\n",
    )
    expect(rows(event({ type: 'turn.ended', outcome: 'unknown', durationMs: 5 }))).toBe(
      'outcome unknown · 5 ms\n',
    )
  })

  it('show the changed command that ran, and count waiting for people separately', () => {
    const one = transcript(pipes)
    const input = { command: 'npm test' }
    const asked = { type: 'permission.requested' as const, title: 'npm test', input, toolCallId: 'c' }
    const settled = { type: 'permission.resolved' as const, outcome: 'allowed', by: 'person' }
    const pieces = [
      called('c'),
      event({ ...asked, requestId: 'r', at: 1000 }),
      event({ ...settled, requestId: 'r', input: { command: 'npm run unit' }, at: 31_000 }),
      { ...ended('c'), at: 31_500 },
      event({ type: 'turn.ended', outcome: 'completed', durationMs: 32_000, at: 32_000 }),
    ].flatMap((each) => one.event(each))
    expect(textTo('err', pieces)).toBe(
      [
        '· allowed with changes: npm run unit (by a person, instead of npm test)',
        '✓ execute npm run unit · completed',
        'completed · 2.0 s, 30.0 s waiting for you',
        '',
      ].join('\n'),
    )
  })

  it('start on a new line while text streams on the same terminal', () => {
    const one = transcript()
    const pieces = [...one.delta(streamed('a', 0, 'half ')), ...one.event(called('c'))]
    expect(pieces.map(({ text }) => text).join('')).toBe('half \n… execute npm test\n')
  })

  it('show an error once, and again in the next turn', () => {
    const error = { code: 'agent_failed', message: 'Sign in first.' }
    const gone = () => event({ type: 'agent.disconnected', reason: 'failed-to-start', error })
    const failed = () => event({ type: 'turn.ended', outcome: 'failed', durationMs: 5, error })
    const one = transcript()
    const turn = () =>
      textTo(
        'err',
        [gone(), gone(), failed()].flatMap((reported) => one.event(reported)),
      )
    const said = 'error: Sign in first.\nfailed · 5 ms\n'
    expect([turn(), turn()]).toEqual([said, said])
    expect(textTo('err', one.event(failed()))).toBe('failed: Sign in first. · 5 ms\n')
  })

  it('show prompts only on request', () => {
    const prompt = event({
      type: 'prompt.submitted',
      promptId: 'p',
      parts: [{ type: 'text', text: 'do it' }],
    })
    expect(transcript().event(prompt)).toEqual([])
    expect(textTo('err', transcript({ prompts: true }).event(prompt))).toBe('› do it\n')
  })

  it('ignore events of a later version', () => {
    const event = decodeEvent({ seq: 1, at: 0, sessionId: 's', type: 'text.sung' })
    expect(transcript().event(event)).toEqual([])
  })
})

describe('text for a terminal', () => {
  it('keeps ordinary characters as they are', () => {
    expect(visible('Grüße, 世界 👋\n\tand a tab')).toBe('Grüße, 世界 👋\n\tand a tab')
    expect(oneLine('a\n  b', 20)).toBe('a ⏎ b')
    expect(oneLine('abcdef', 4)).toBe('abc…')
  })

  it('is coloured only on a terminal, unless NO_COLOR or FORCE_COLOR is set', () => {
    expect(isColoured(true, {})).toBe(true)
    expect(isColoured(false, {})).toBe(false)
    expect(isColoured(true, { NO_COLOR: '1' })).toBe(false)
    expect(isColoured(false, { FORCE_COLOR: '1' })).toBe(true)
    expect(isColoured(true, { FORCE_COLOR: '0' })).toBe(false)
  })
})

it('a steered prompt that a lost agent had not taken up is shown as paused, not as the next prompt', () => {
  const rows = (more = {}) =>
    textTo('err', transcript().event(event({ type: 'prompt.queued', promptId: 'p', ...more })))
  expect(rows()).toContain('queued: another turn runs first')
  expect(rows({ paused: true })).toContain('paused: the agent was lost before it took up this prompt')
})

it.each([
  ['server-killed', /^info: The server exited unexpectedly/],
  ['crashed', /^error: The agent's process exited/],
])('the loss of an agent by %s is shown with its reason', (reason, text) => {
  const pieces = transcript(pipes).event(event({ type: 'agent.disconnected', reason }))
  expect(textTo('err', pieces)).toMatch(text)
})
