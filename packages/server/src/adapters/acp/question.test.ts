import type { Person, QuestionAsk } from '@parley/adapter-kit'
import type { Answers } from '@parley/protocol'
import { expect, it } from 'vitest'
import { answerElicitation } from './question.ts'

const form = {
  mode: 'form',
  message: 'Which colour?',
  toolCallId: 'call',
  requestedSchema: {
    type: 'object',
    properties: {
      question_0: {
        type: 'string',
        title: 'Colour',
        oneOf: [
          { const: 'red', title: 'red', description: 'warm' },
          { const: 'blue', title: 'blue' },
        ],
      },
      question_0_custom: { type: 'string', title: 'Other' },
    },
  },
}

async function play(params: object, answers: Answers | undefined) {
  const asked: QuestionAsk[] = []
  const person: Person = {
    forbids: () => false,
    permit: async () => ({ outcome: 'cancelled', requestId: 'r' }),
    answer: async (ask) => {
      asked.push(ask)
      return answers
        ? { outcome: 'answered', requestId: 'r', answers }
        : { outcome: 'cancelled', requestId: 'r' }
    },
  }
  const context = { person, agent: 'Agent', customAnswer: '_custom', callId: (id: string) => `our ${id}` }
  const answer = await answerElicitation(context, params, new AbortController().signal)
  return { answer, asked }
}

it('asks one question for a field and its free-text field', async () => {
  const { asked, answer } = await play(form, { question_0: 'blue' })
  expect(asked).toMatchObject([
    {
      toolCallId: 'our call',
      questions: [
        { id: 'question_0', freeText: true, options: [{ label: 'red', description: 'warm' }, {}, {}] },
      ],
    },
  ])
  expect(asked[0]?.questions).toHaveLength(1)
  expect(answer).toEqual({ action: 'accept', content: { question_0: 'blue' } })
})

it('returns free text in its own field', async () => {
  expect((await play(form, { question_0: 'green' })).answer).toEqual({
    action: 'accept',
    content: { question_0_custom: 'green' },
  })
})

it('reports that nobody answered', async () => {
  expect((await play(form, undefined)).answer).toEqual({ action: 'cancel' })
})

it('asks a person to visit a page', async () => {
  const page = { mode: 'url', message: 'Sign in.', url: 'https://example.test/in', elicitationId: 'e' }
  const { asked, answer } = await play(page, { 1: 'Done' })
  expect(asked[0]?.questions[0]?.text).toContain('https://example.test/in')
  expect(answer).toEqual({ action: 'accept', content: {} })
  expect((await play(page, { 1: 'No' })).answer).toEqual({ action: 'decline' })
})
