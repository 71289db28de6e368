import type { BlockOf, OpenRequest, QuestionResolution } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  type AnswerCommand,
  outcomeText,
  questionNote,
  requestText,
  settledText,
  shownAnswer,
} from './answer-text.logic.ts'

const open = { requestId: 'req_1', at: 0, stale: false }
const permission = (kind: 'execute' | 'plan'): OpenRequest => ({
  type: 'permission',
  ...open,
  tool: 'Bash',
  readOnly: false,
  kind,
  title: 'rm -rf build',
  input: {},
  inputHash: 'h',
  options: [],
})
const question: OpenRequest = {
  type: 'question',
  ...open,
  questions: [{ id: 'q1', header: '', text: 'Where?', options: [], multiple: false, freeText: true }],
}
const decide = (more: object): AnswerCommand => ({
  type: 'permission.decide',
  requestId: 'req_1',
  decision: 'allow',
  ...more,
})

describe('the description of an answer', () => {
  it.each([
    [decide({ scope: 'once' }), 'Allow once'],
    [decide({}), 'Allow once'],
    [decide({ scope: 'session' }), 'Allow for this session'],
    [decide({ scope: 'project' }), 'Allow in this project'],
    [decide({ scope: 'always' }), 'Allow always'],
    [decide({ scope: 'once', input: { command: 'ls' } }), 'Allow as edited'],
    [decide({ decision: 'deny' }), 'Deny'],
    [decide({ decision: 'deny', message: 'Keep it' }), 'Deny: Keep it'],
  ])('is the label of the button: %j', (answer, words) => {
    expect(shownAnswer(permission('execute'), answer)).toBe(words)
  })

  it('covers plans and questions', () => {
    expect(shownAnswer(permission('plan'), decide({ scope: 'once' }))).toBe('Approve the plan')
    expect(shownAnswer(permission('plan'), decide({ decision: 'deny' }))).toBe('Request changes')
    const answers = { a: 'SQLite', b: ['Tests', 'Linting'] }
    expect(shownAnswer(question, { type: 'question.answer', requestId: 'req_1', answers })).toBe(
      'SQLite, Tests, Linting',
    )
    expect([requestText(permission('plan')), requestText(question)]).toEqual(['rm -rf build', 'Where?'])
  })

  it('is cut at a length limit and shows hidden characters', () => {
    const long = { ...permission('execute'), title: `\u202e${'x'.repeat(1_000_000)}` } as OpenRequest
    expect(requestText(long)).toMatch(/^\\u\{202e\}x{199}…$/)
    expect(shownAnswer(question, decide({ decision: 'deny', message: 'y'.repeat(500) }))).toHaveLength(207)
  })

  it('says how a request was settled elsewhere', () => {
    expect(settledText('denied')).toBe('it was denied elsewhere')
    expect(settledText('cancelled')).toBe('the turn stopped first')
    expect(settledText(undefined)).toBe('the request is no longer open')
  })
})

it('a note says that a question was not answered, or was answered by a carried answer', () => {
  const note = (rest: object) =>
    questionNote({ requestId: 'req_1', outcome: 'answered', by: 'person', ...rest } as QuestionResolution)
  expect([note({}), note({ outcome: 'cancelled' }), note({ carriedFrom: 'req_0' })]).toEqual([
    undefined,
    'Not answered',
    'Asked again, and answered as before',
  ])
})

it('describes the outcome of a permission', () => {
  const words = (
    outcome: 'allowed' | 'denied' | 'cancelled',
    rest = {},
    kind: 'plan' | 'execute' = 'execute',
  ) => {
    const resolution = { requestId: 'req_1', outcome, by: 'person' as const, ...rest }
    const request = { kind, input: { command: 'rm' } }
    return outcomeText({ type: 'permission', request, resolution } as BlockOf<'permission'>, resolution)
  }
  expect(words('cancelled', { by: 'turn-end' })).toBe('Not answered: the turn stopped')
  expect(words('allowed', { scope: 'session' })).toBe('Allowed for this session by you')
  expect(words('allowed', { carriedFrom: 'req_0' })).toBe('Allowed once by you, with an earlier answer')
  expect(words('allowed', { input: { command: 'ls' } })).toBe('Allowed once by you, with changes: ls')
  for (const input of [{ path: 'a' }, { command: 'rm', timeout: 5 }])
    expect(words('allowed', { input })).toBe('Allowed once by you, with changes')
  expect(words('denied', { message: 'Not yet\u202e' })).toBe('Denied by you: Not yet\\u{202e}')
  expect([words('allowed', {}, 'plan'), words('denied', {}, 'plan')]).toEqual([
    'Approved by you',
    'Not approved by you',
  ])
})
