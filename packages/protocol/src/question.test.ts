import { describe, expect, it } from 'vitest'
import { answersProblem, type Question } from './question.ts'

const colour: Question = {
  id: 'colour',
  header: 'Colour',
  text: 'Which colour?',
  options: [{ label: 'red' }, { label: 'blue' }],
  multiple: false,
  freeText: false,
}
const sizes: Question = { ...colour, id: 'sizes', multiple: true }
const name: Question = { ...colour, id: 'name', options: [], freeText: true }
const names: Question = { ...name, multiple: true }

describe('answersProblem', () => {
  it.each([
    ['a label', colour, 'red'],
    ['a label in a list', colour, ['red']],
    ['several labels where several may be', sizes, ['red', 'blue']],
    ['one label where several may be', sizes, 'blue'],
    ['free text', name, 'anything at all'],
    ['several free texts', names, ['one', 'two']],
    ['free text beside options', { ...colour, freeText: true }, 'green'],
  ])('is content with %s', (_, question, answer) => {
    expect(answersProblem([question], { [question.id]: answer })).toBeUndefined()
  })

  it.each([
    ['a label that is not offered', colour, 'green', 'has no option "green"'],
    ['the right label in another case', colour, 'Red', 'has no option "Red"'],
    ['one wrong label of several', sizes, ['red', 'green'], 'has no option "green"'],
    ['several where one is wanted', colour, ['red', 'blue'], 'takes one answer'],
    ['several free texts where one is wanted', name, ['a', 'b'], 'takes one answer'],
    ['an empty list', sizes, [], 'has no answer'],
  ])('names %s', (_, question, answer, problem) => {
    expect(answersProblem([question], { [question.id]: answer })).toContain(problem)
  })

  it('wants every question answered', () => {
    expect(answersProblem([colour, name], { colour: 'red' })).toBe('question name has no answer')
    expect(answersProblem([colour], {})).toBe('question colour has no answer')
  })

  it('refuses answers to questions that were not asked', () => {
    expect(answersProblem([colour], { colour: 'red', shape: 'round' })).toBe('there is no question shape')
  })

  it('does not take what every object has for an answer', () => {
    expect(answersProblem([{ ...name, id: 'constructor' }], {})).toBe('question constructor has no answer')
  })
})
