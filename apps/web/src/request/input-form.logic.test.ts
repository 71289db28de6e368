import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editedInput, inputForm } from './input-form.logic.ts'

const names = (input: unknown) => inputForm(input).texts.map(({ name }) => name)

describe('the form of an input', () => {
  it('has a field for each string', () => {
    expect(names({ path: 'a.txt', old: 'one\ntwo', all: true })).toEqual(['path', 'old'])
  })

  it('has JSON only for values that are not strings', () => {
    expect(inputForm({ command: 'ls', description: 'Looks' }).others).toBeUndefined()
    const others = inputForm({ command: 'ls', timeout: 5, env: { deep: ['x'] } }).others
    expect(JSON.parse(others!)).toEqual({ timeout: 5, env: { deep: ['x'] } })
  })

  it('is only JSON if the input has no string', () => {
    for (const input of [{ count: 1 }, {}, ['a'], 'words', null])
      expect([names(input), JSON.parse(inputForm(input).others!)]).toEqual([[], input ?? {}])
    expect(inputForm(undefined).others).toBe('{}')
  })
})

describe('an edited input', () => {
  const input = { timeout: 5, command: 'rm a', env: { deep: [1] }, description: 'x' }

  it('keeps all fields, their order and their types', () => {
    const edited = editedInput(input, { texts: { command: 'rm b' } })
    expect(edited).toEqual({ input: { ...input, command: 'rm b' } })
    expect(Object.keys(edited.input as object)).toEqual(Object.keys(input))
    expect(editedInput(input, { texts: { command: '7' }, others: '{"timeout": 6, "new": null}' })).toEqual({
      input: { timeout: 6, command: '7', description: 'x', new: null },
    })
    expect(editedInput(['a'], { others: '["b"]' })).toEqual({ input: ['b'] })
  })

  it('is the same object if nothing was edited', () => {
    const { others } = inputForm(input)
    for (const edits of [{}, { texts: { command: 'rm a' } }, { others: others! }])
      expect(editedInput(input, edits).input).toBe(input)
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        expect(editedInput(any, {}).input).toBe(any)
      }),
    )
  })

  it('keeps line ends that a textarea would normalize', () => {
    const windows = { text: 'one\r\ntwo' }
    expect(editedInput(windows, { texts: { text: 'one\ntwo' } }).input).toBe(windows)
    expect(editedInput(windows, { texts: { text: 'one\ntwo\nthree' } }).input).toEqual({
      text: 'one\r\ntwo\r\nthree',
    })
    const mixed = { path: 'a', text: 'one\r\ntwo\nthree\rfour\r\n' }
    expect(editedInput(mixed, { texts: { text: 'one\ntwo\nthree\nfour\n' } }).input).toBe(mixed)
    expect(editedInput(mixed, { texts: { path: 'b' } }).input).toEqual({ ...mixed, path: 'b' })
    expect(editedInput(mixed, { texts: { text: 'one\n2\n2a\nthree\nfour\n' } }).input).toEqual({
      path: 'a',
      text: 'one\r\n2\n2a\nthree\rfour\r\n',
    })
  })

  it('equals the text of the field, except for line ends', () => {
    const shown = (text: string) => text.replace(/\r\n?/g, '\n')
    const text = fc.stringMatching(/^[ab\r\n]{0,12}$/)
    fc.assert(
      fc.property(text, text, (before, written) => {
        const { input } = editedInput({ text: before }, { texts: { text: shown(written) } })
        expect(shown((input as { text: string }).text)).toBe(shown(written))
      }),
    )
  })

  it('is refused if its command is empty', () => {
    expect(editedInput(input, { texts: { command: ' \n' } })).toEqual({
      input,
      problem: expect.stringContaining('deny'),
      at: 'command',
    })
    expect(editedInput(input, { texts: { description: '' } })).toEqual({
      input: { ...input, description: '' },
    })
  })

  it('reports an error in its JSON', () => {
    const problem = (others: string) => editedInput(input, { others }).problem
    expect(problem('{"a": 1,}')).toMatch(/^This is not JSON: .+/)
    for (const others of ['[1]', '7', 'null']) expect(problem(others)).toContain('must be an object')
    expect(problem('{"command": "rm b"}')).toContain('“command” in its own field')
    expect(problem('{"timeout": 6}')).toBeUndefined()
  })

  it('accepts fields named __proto__ and toString', () => {
    const odd = JSON.parse('{"__proto__": "a", "toString": "b", "n": 1}') as object
    expect(names(odd)).toEqual(['__proto__', 'toString'])
    expect(editedInput(odd, {}).input).toBe(odd)
    const { input: edited } = editedInput(odd, { texts: JSON.parse('{"__proto__": "c"}') })
    expect(JSON.stringify(edited)).toBe('{"__proto__":"c","toString":"b","n":1}')
  })
})
