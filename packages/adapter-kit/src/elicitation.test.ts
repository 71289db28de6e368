import { answersProblem } from '@parley/protocol'
import { expect, it } from 'vitest'
import { elicitedContent, elicitedQuestions } from './elicitation.ts'

const request = {
  serverName: 'tracker',
  message: 'Where to?',
  requestedSchema: {
    type: 'object',
    properties: {
      project: { type: 'string', description: 'The project' },
      priority: { type: 'string', enum: ['p1', 'p2'], enumNames: ['High', 'Low'] },
      count: { type: 'integer' },
      notify: { type: 'boolean', title: 'Notify?' },
      labels: {
        type: 'array',
        items: {
          anyOf: [
            { const: 'a', title: 'Apple' },
            { const: 'b', title: 'Pear' },
          ],
        },
      },
    },
    required: ['project', 'priority', 'count', 'notify'],
  },
}

it('asks one question per form field', () => {
  const questions = elicitedQuestions(request)
  expect(
    questions.map(({ id, text, options, freeText, multiple }) => [
      id,
      text,
      options.map((o) => o.label),
      freeText,
      multiple,
    ]),
  ).toEqual([
    ['project', 'Where to?\nThe project', [], true, false],
    ['priority', 'priority', ['High', 'Low'], false, false],
    ['count', 'count', [], true, false],
    ['notify', 'Notify?', ['Yes', 'No'], false, false],
    ['labels', 'labels', ['Apple', 'Pear', '(leave out)'], false, true],
  ])
})

it('converts the answers to the types of the requested schema', () => {
  const answers = { project: 'x', priority: 'Low', count: '3', notify: 'No', labels: ['Apple', 'Pear'] }
  expect(answersProblem(elicitedQuestions(request), answers)).toBeUndefined()
  expect(elicitedContent(request, answers)).toEqual({
    project: 'x',
    priority: 'p2',
    count: 3,
    notify: false,
    labels: ['a', 'b'],
  })
  expect(elicitedContent(request, { ...answers, labels: '(leave out)' })).not.toHaveProperty('labels')
  expect(elicitedContent(request, { ...answers, count: 'many' })).toBeUndefined()
})

it('asks whether a page was visited, or for a confirmation if there is no form', () => {
  const page = { serverName: 's', message: 'Sign in', url: 'https://example.com/a' }
  expect(elicitedQuestions(page)[0]?.text).toContain('https://example.com/a')
  expect(elicitedContent(page, { 1: 'Done' })).toEqual({})
  expect(elicitedContent(page, { 1: 'No' })).toBeUndefined()
  const plain = { serverName: 's', message: 'Go on?' }
  expect(elicitedContent(plain, { 1: 'Yes' })).toEqual({})
  expect(elicitedContent(plain, { 1: 'No' })).toBeUndefined()
})
