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
    ['several labels where several are allowed', sizes, ['red', 'blue']],
    ['one label where several are allowed', sizes, 'blue'],
    ['free text', name, 'anything at all'],
    ['several free texts', names, ['one', 'two']],
    ['free text beside options', { ...colour, freeText: true }, 'green'],
  ])('accepts %s', (_, question, answer) => {
    expect(answersProblem([question], { [question.id]: answer })).toBeUndefined()
  })

  it.each([
    ['a label that is not offered', colour, 'green', 'has no option "green"'],
    ['the right label in another case', colour, 'Red', 'has no option "Red"'],
    ['one wrong label of several', sizes, ['red', 'green'], 'has no option "green"'],
    ['several labels where one is allowed', colour, ['red', 'blue'], 'takes one answer'],
    ['several free texts where one is allowed', name, ['a', 'b'], 'takes one answer'],
    ['an empty list', sizes, [], 'has no answer'],
  ])('reports %s', (_, question, answer, problem) => {
    expect(answersProblem([question], { [question.id]: answer })).toContain(problem)
  })

  it('requires an answer to every question', () => {
    expect(answersProblem([colour, name], { colour: 'red' })).toBe('question name has no answer')
    expect(answersProblem([colour], {})).toBe('question colour has no answer')
  })

  it('refuses answers to questions that were not asked', () => {
    expect(answersProblem([colour], { colour: 'red', shape: 'round' })).toBe('there is no question shape')
  })

  it('does not accept inherited properties of an object as answers', () => {
    expect(answersProblem([{ ...name, id: 'constructor' }], {})).toBe('question constructor has no answer')
  })
})
