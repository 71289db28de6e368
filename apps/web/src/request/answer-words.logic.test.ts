import type { OpenRequest } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { type Answering, answerWords, requestWords, settledWords } from './answer-words.logic.ts'

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
const decide = (more: object): Answering => ({
  type: 'permission.decide',
  requestId: 'req_1',
  decision: 'allow',
  ...more,
})

describe('an answer in words', () => {
  it.each([
    [decide({ scope: 'once' }), 'Allow once'],
    [decide({}), 'Allow once'],
    [decide({ scope: 'session' }), 'Allow for this session'],
    [decide({ scope: 'project' }), 'Allow in this folder'],
    [decide({ scope: 'always' }), 'Allow always'],
    [decide({ scope: 'once', input: { command: 'ls' } }), 'Allow as edited'],
    [decide({ decision: 'deny' }), 'Deny'],
    [decide({ decision: 'deny', message: 'Keep it' }), 'Deny: Keep it'],
  ])('says what the button said: %j', (answer, words) => {
    expect(answerWords(permission('execute'), answer)).toBe(words)
  })

  it('knows plans and questions', () => {
    expect(answerWords(permission('plan'), decide({ scope: 'once' }))).toBe('Approve the plan')
    expect(answerWords(permission('plan'), decide({ decision: 'deny' }))).toBe('Not yet')
    const answers = { a: 'SQLite', b: ['Tests', 'Linting'] }
    expect(answerWords(question, { type: 'question.answer', requestId: 'req_1', answers })).toBe(
      'SQLite, Tests, Linting',
    )
    expect([requestWords(permission('plan')), requestWords(question)]).toEqual(['rm -rf build', 'Where?'])
  })

  it('is short, and hides nothing', () => {
    const long = { ...permission('execute'), title: `\u202e${'x'.repeat(1_000_000)}` } as OpenRequest
    expect(requestWords(long)).toMatch(/^\\u202ex{199}…$/)
    expect(answerWords(question, decide({ decision: 'deny', message: 'y'.repeat(500) }))).toHaveLength(207)
  })

  it('says how a request ended without it', () => {
    expect(settledWords('denied')).toBe('it was denied elsewhere')
    expect(settledWords(undefined)).toBe('nobody waits for it any more')
  })
})
