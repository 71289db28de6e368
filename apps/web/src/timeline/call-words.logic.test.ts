import { describe, expect, it } from 'vitest'
import {
  asJson,
  callName,
  commandOf,
  exitCodeOf,
  firstLine,
  pictureAddress,
  planOf,
} from './call-words.logic.ts'

describe('the words of a call', () => {
  it('name it by its kind, or by its own name', () => {
    expect(callName({ kind: 'execute', name: 'Bash' })).toBe('Run')
    expect(callName({ kind: 'other', name: 'mcp__a__b' })).toBe('mcp__a__b')
  })

  it('find the command and the plan in whatever input there is', () => {
    expect(commandOf({ command: 'ls' })).toBe('ls')
    expect(commandOf({ command: ['ls', '-l'] })).toBe('ls -l')
    for (const input of [undefined, null, 'x', { command: 3 }, []]) expect(commandOf(input)).toBeUndefined()
    expect(planOf({ plan: '1. x' })).toBe('1. x')
    expect(planOf({})).toBeUndefined()
  })

  it('say how it ended', () => {
    expect(
      exitCodeOf([
        { type: 'text', text: 'a' },
        { type: 'terminal', output: '', exitCode: 2 },
      ]),
    ).toBe(2)
    expect(exitCodeOf([{ type: 'terminal', output: '', exitCode: null }])).toBeUndefined()
    expect(firstLine([{ type: 'text', text: '\n\nfirst\nsecond' }])).toBe('first')
  })

  it('show only pictures as pictures', () => {
    expect(pictureAddress({ mimeType: 'image/png', data: 'AAAA' })).toBe('data:image/png;base64,AAAA')
    expect(pictureAddress({ mimeType: 'image/svg+xml', data: 'AAAA' })).toBeUndefined()
    expect(pictureAddress({ mimeType: 'image/png', data: '"><script>' })).toBeUndefined()
  })

  it('write out what cannot be written', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(asJson(circle)).toContain('cannot be written out')
    let deep: unknown = '[[['
    expect(asJson({ deep })).toBe('{\n  "deep": "[[["\n}')
    for (let level = 0; level < 100; level++) deep = [deep]
    expect(asJson(deep)).toBe(JSON.stringify(deep))
    expect(asJson(undefined)).toBe('')
  })
})
