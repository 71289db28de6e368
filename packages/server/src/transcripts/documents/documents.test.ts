import { applyEvents, emptyView, type SessionEvent, type SessionView } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { changeText } from './block-text.ts'
import { htmlDocument } from './html-document.ts'
import { markdownDocument } from './markdown-document.ts'

type Fields = { type: SessionEvent['type'] } & Record<string, unknown>
const viewOf = (...all: Fields[]): SessionView =>
  applyEvents(
    emptyView('ses_1'),
    all.map((fields, index) => ({ seq: index + 1, at: 0, sessionId: 'ses_1', ...fields }) as SessionEvent),
  )
const submitted = (promptId: string, more = {}): Fields => ({
  type: 'prompt.submitted',
  promptId,
  parts: [{ type: 'text', text: `words of ${promptId}` }],
  delivery: 'queue',
  ...more,
})
const started = (turnId: string, promptId: string): Fields => ({ type: 'turn.started', turnId, promptId })
const said = (turnId: string, text: string): Fields => ({
  type: 'text.written',
  turnId,
  blockId: text,
  text,
})
const ended = (turnId: string, more = {}): Fields => ({
  type: 'turn.ended',
  turnId,
  outcome: 'completed',
  stopReason: 'end',
  durationMs: 1000,
  ...more,
})
const both = (view: SessionView) =>
  [markdownDocument, htmlDocument].map((transcript) => [...transcript(view)].join(''))

describe('a transcript', () => {
  it('shows a queued prompt above the turn it started, and marks steered and withdrawn ones', () => {
    const view = viewOf(
      submitted('one'),
      started('a', 'one'),
      submitted('gone'),
      { type: 'prompt.queued', promptId: 'gone' },
      submitted('next'),
      { type: 'prompt.queued', promptId: 'next' },
      { type: 'prompt.withdrawn', promptId: 'gone' },
      submitted('more', { delivery: 'steer', turnId: 'a' }),
      said('a', 'first answer'),
      ended('a'),
      started('b', 'next'),
      said('b', 'second answer'),
    )
    const order = [
      'words of one',
      'words of gone',
      'words of more',
      'first answer',
      'words of next',
      'second',
    ]
    for (const text of both(view)) {
      const places = order.map((words) => text.indexOf(words))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(places[0]).toBeGreaterThan(0)
    }
    const [markdown, page] = both(view)
    expect(markdown?.match(/^## .*$/gm)).toEqual([
      '## Prompt',
      '## Prompt (withdrawn)',
      '## Prompt (steered)',
      '## Prompt',
    ])
    expect(page?.match(/Prompt[^<]*/g)).toEqual(['Prompt', 'Prompt, withdrawn', 'Prompt, steered', 'Prompt'])
  })

  it('shows that a request which was asked again after a restart had already been answered', () => {
    const asked = {
      type: 'permission.requested',
      turnId: 'a',
      tool: 'Bash',
      kind: 'execute',
      title: 'ls',
    } as const
    const allowed = { type: 'permission.resolved', turnId: 'a', outcome: 'allowed', by: 'person' } as const
    const colour = {
      id: 'colour',
      header: 'Colour',
      text: 'Which?',
      options: [],
      multiple: true,
      freeText: false,
    }
    const view = viewOf(
      { ...asked, toolCallId: 'c', requestId: 'q', input: {}, options: [] },
      { ...allowed, requestId: 'q' },
      { ...asked, toolCallId: 'd', requestId: 'r', input: {}, options: [] },
      { ...allowed, requestId: 'r', carriedFrom: 'q' },
      { type: 'question.asked', turnId: 'a', requestId: 's', questions: [colour] },
      {
        type: 'question.resolved',
        turnId: 'a',
        requestId: 's',
        outcome: 'answered',
        by: 'person',
        answers: { colour: ['red', 'blue'] },
        carriedFrom: 'p',
      },
    )
    for (const text of both(view)) expect(text).toContain('red, blue, with an earlier answer')
    for (const text of both(view))
      expect(text.match(/allowed by a person[^*<]*/g)).toEqual([
        'allowed by a person',
        'allowed by a person, with an earlier answer',
      ])
  })

  it('shows a question once, without the input of the call that asks it', () => {
    const which = { id: 'c', header: 'Colour', text: 'Which colour?', options: [{ label: 'red' }] }
    const input = { questions: [which] }
    const questions = [{ ...which, multiple: false, freeText: false }]
    const view = viewOf(
      {
        type: 'tool-call.called',
        turnId: 'a',
        toolCallId: 'c',
        name: 'Ask',
        kind: 'other',
        title: 'Ask',
        input,
      },
      { type: 'question.asked', turnId: 'a', requestId: 's', toolCallId: 'c', questions },
    )
    for (const text of both(view)) expect(text.match(/Which colour/g)).toHaveLength(1)
  })

  it('shows that a permission was allowed with changes, with the input that ran', () => {
    const call = { turnId: 'a', toolCallId: 'c', kind: 'execute', title: 'rm -rf build' }
    const input = { command: 'rm -rf build' }
    const view = viewOf(
      { type: 'tool-call.called', ...call, name: 'Bash', input },
      { type: 'permission.requested', ...call, requestId: 'r', tool: 'Bash', input, options: [] },
      {
        type: 'permission.resolved',
        turnId: 'a',
        requestId: 'r',
        outcome: 'allowed',
        by: 'person',
        input: { command: 'ls build' },
      },
      { type: 'tool-call.ended', turnId: 'a', toolCallId: 'c', outcome: 'completed', content: [] },
    )
    const [markdown, page] = both(view)
    expect(markdown).toContain('### ls build\n')
    expect(markdown).toContain(
      '**Permission** for Bash, rm -rf build: **allowed with changes by a person**\n\nRun instead:\n\n```\nls build\n```',
    )
    expect(markdown).toContain('*Original input, changed by a person:*')
    expect(page).toContain('<strong>ls build</strong>')
    expect(page).toContain('<span class="good">allowed with changes by a person</span>')
    expect(page).toContain('<p class="soft">Run instead:</p><pre>ls build</pre>')
    expect(page).toContain('changed by a person</summary><pre>{\n  &quot;command&quot;: &quot;rm -rf build')
  })

  it('counts only the time that a turn worked', () => {
    const asks = (requestId: string, at: number): Fields => ({
      type: 'question.asked',
      turnId: 'a',
      requestId,
      questions: [],
      at,
    })
    const answers = (requestId: string, at: number): Fields => ({
      type: 'question.resolved',
      turnId: 'a',
      requestId,
      outcome: 'answered',
      by: 'person',
      at,
    })
    const asked = [asks('r', 1000), asks('s', 2000), answers('r', 3000), answers('s', 61_000)]
    const view = viewOf(...asked, ended('a', { at: 62_000, durationMs: 62_000 }), ended('b'))
    for (const text of both(view)) {
      expect(text).toContain('Turn completed: 2.0 s, 60.0 s waiting for a person')
      expect(text).toMatch(/Turn completed: 1\.0 s(?!,)/)
    }
  })
})

describe('the text of the input that ran instead', () => {
  it.each([
    ['is undefined for an equal input', { command: 'a', n: 1 }, { n: 1, command: 'a' }, undefined],
    ['is undefined if the input was not edited', { command: 'a' }, undefined, undefined],
    ['is a changed command', { command: 'a', n: 1 }, { command: 'b', n: 1 }, 'b'],
    ['is a changed command and other fields', { command: 'a', n: 1 }, { command: 'b', n: 2 }, 'b\n{"n":2}'],
    ['is another field alone', { command: 'a', n: 1 }, { command: 'a', n: 2 }, '{"n":2}'],
    ['is the whole input if a field was removed', { command: 'a', n: 1 }, { command: 'a' }, 'a'],
    ['is the allowed input if the asked one is unknown', undefined, { command: 'b' }, 'b'],
    ['is an input that has no fields', 'a', 'b', '{"input":"b"}'],
  ])('%s', (_, asked, allowed, text) => {
    expect(changeText(asked, allowed)).toBe(text)
  })
})
