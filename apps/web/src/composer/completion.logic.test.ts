import { describe, expect, it } from 'vitest'
import { completionAt, matchingCommands, withChoice } from './completion.logic.ts'

const at = (marked: string) => completionAt(marked.replace('|', ''), marked.indexOf('|'))

describe('completion', () => {
  it('offers commands only at the start of the text', () => {
    expect(at('/co|')).toEqual({ kind: 'command', query: 'co', from: 0, to: 3 })
    expect(at('/|')).toMatchObject({ query: '' })
    for (const text of ['say /co|', '/co now|', '/usr/bin|', 'plain|']) expect(at(text)).toBeUndefined()
  })

  it('offers files after an @ at the start of a word', () => {
    expect(at('look at @src/a|')).toEqual({ kind: 'file', query: 'src/a', from: 8, to: 14 })
    expect(at('(@x|')).toMatchObject({ query: 'x', from: 1 })
    for (const text of ['mail me@example|', 'a @b c|']) expect(at(text)).toBeUndefined()
  })

  it('replaces the typed text with the choice', () => {
    const text = 'look at @sr and go'
    const completion = completionAt(text, 11)!
    expect(withChoice(text, completion, 'src/a.ts')).toEqual({ text: 'look at @src/a.ts and go', caret: 18 })
    expect(withChoice(text, completion, 'my notes.md').text).toBe('look at @"my notes.md" and go')
  })

  it('ranks matches at the start of a name first, then in the name, then in the description', () => {
    const commands = [
      { name: 'recompact' },
      { name: 'compact' },
      { name: 'other', description: 'to compact' },
      { name: 'x' },
    ]
    expect(matchingCommands(commands, 'Comp').map(({ name }) => name)).toEqual([
      'compact',
      'recompact',
      'other',
    ])
  })
})
