import { answersProblem, type Question } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { answersOf, choose, type Filled, leftToAgent, write } from './question-form.logic.ts'

const question = (id: string, multiple: boolean, freeText = true): Question => ({
  id,
  header: id,
  text: id,
  options: [{ label: 'A' }, { label: 'B' }],
  multiple,
  freeText,
})
const one = question('one', false)
const many = question('many', true)
const empty: Filled = {}

describe('a question form', () => {
  it('accepts one option, or free text instead', () => {
    const filled = choose(choose(empty, one, 'A'), one, 'B')
    expect(answersOf([one], filled)).toEqual({ one: 'B' })
    expect(answersOf([one], write(filled, one, ' other '))).toEqual({ one: 'other' })
    expect(answersOf([one], choose(write(filled, one, 'x'), one, 'A'))).toEqual({ one: 'A' })
  })

  it('accepts several options together with free text', () => {
    const filled = choose(choose(choose(empty, many, 'A'), many, 'B'), many, 'A')
    expect(answersOf([many], write(filled, many, 'more'))).toEqual({ many: ['B', 'more'] })
  })

  it('leaves out unanswered questions, so that the protocol can report them', () => {
    expect(answersProblem([one, many], answersOf([one, many], choose(empty, one, 'A')))).toContain('many')
    expect(answersProblem([one], answersOf([one], choose(empty, one, 'A')))).toBeUndefined()
  })

  it('can leave the unanswered questions to the agent', () => {
    const answers = answersOf([one, many], choose(empty, one, 'A'))
    const left = leftToAgent([one, many], answers)
    expect(left).toEqual({ one: 'A', many: ['You decide.'] })
    expect(answersProblem([one, many], left!)).toBeUndefined()
    expect(leftToAgent([one], {})).toEqual({ one: 'You decide.' })
  })

  it('cannot be left to the agent if a question needs a choice or all are answered', () => {
    const strict = question('strict', false, false)
    expect(leftToAgent([one, strict], {})).toBeUndefined()
    expect(leftToAgent([one, strict], { strict: 'A' })).toEqual({ strict: 'A', one: 'You decide.' })
    expect(leftToAgent([one], { one: 'A' })).toBeUndefined()
  })

  it('accepts questions with ids such as __proto__', () => {
    const odd = question('__proto__', false)
    expect(answersOf([question('toString', false)], empty)).toEqual({})
    expect(() => answersOf([odd], choose(empty, odd, 'A'))).not.toThrow()
  })
})
