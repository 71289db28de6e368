import { describe, expect, it } from 'vitest'
import { resultOf } from './tool-result.ts'

const text = (words: string) => ({ content: [{ type: 'text', text: words }] })
const circle: Record<string, unknown> = {}
circle.self = circle

describe('a return value of a handler', () => {
  it.each<[string, unknown, object]>([
    ['a text', 'sage', text('sage')],
    ['undefined', undefined, text('Done.')],
    ['a number', 7, text('7')],
    ['null', null, text('null')],
    ['a list', ['sage', 'thyme'], text('["sage","thyme"]')],
    ['an object', { herb: 'sage' }, text('{"herb":"sage"}')],
    ['an object whose content is not a list', { content: 'sage' }, text('{"content":"sage"}')],
  ])('(%s) is passed on as text', (_, value, result) => {
    expect(resultOf('lookup', value)).toEqual(result)
  })

  it('that is a whole result is passed on unchanged', () => {
    const whole = {
      content: [
        { type: 'text', text: 'sage' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'resource', uri: 'note://1', text: 'of the sea' },
        { type: 'resource', uri: 'note://2', mimeType: 'text/plain' },
      ],
      isError: true,
    }
    expect(resultOf('lookup', whole)).toEqual(whole)
    expect(resultOf('lookup', { content: [] })).toEqual({ content: [] })
  })

  it.each<[string, unknown, RegExp]>([
    ['content of an unknown type', { content: [{ type: 'sound' }] }, /invalid result/],
    ['content that only an agent can give', { content: [{ type: 'terminal', output: 'x' }] }, /only text/],
    ['an image without data', { content: [{ type: 'image', mimeType: 'image/png' }] }, /content\.0\.data/],
    ['fields that are unknown', { content: [], failed: true }, /failed/],
    ['a circular object', circle, /not JSON/],
    ['a bigint', 7n, /not JSON/],
    ['a function', () => 'sage', /not JSON/],
  ])('(%s) is a failure of the tool', (_, value, problem) => {
    const { content, isError } = resultOf('lookup', value)
    expect(isError).toBe(true)
    expect(content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(problem) })
    expect(content[0]).toMatchObject({ text: expect.stringContaining('lookup') })
  })
})
