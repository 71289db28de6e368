import { type BlockOf, commandOf, type ToolKind } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  asJson,
  callLabel,
  exitCodeOf,
  firstLine,
  inputOf,
  pictureAddress,
  planOf,
  wantedDiffs,
  withEditedInput,
} from './call-text.logic.ts'

describe('the text of a call', () => {
  it('has one verb and its object', () => {
    const label = (kind: ToolKind, name: string, title: string) =>
      Object.values(callLabel({ kind, name, title })).join(' | ')
    expect(label('execute', 'Bash', 'Read everything')).toBe('Run | Read everything')
    expect(label('read', 'Read', 'Read src/app.js')).toBe('Read | src/app.js')
    expect(label('edit', 'Write', 'Write src/app.js')).toBe('Write | src/app.js')
    expect(label('edit', 'replace', 'poem.txt: red => white')).toBe('Edit | poem.txt: red => white')
    expect(label('search', 'Grep', 'Search for "x"')).toBe('Search | for "x"')
    expect(label('plan', 'ExitPlanMode', 'Propose the plan')).toBe('Propose | the plan')
    expect(label('plan', 'switch_mode', 'Approve Plan')).toBe('Approve | Plan')
    expect(label('subagent', 'Task', 'Find the bug')).toBe('Subagent | Find the bug')
    expect(label('other', 'Skill', 'Use the skill pdf')).toBe('Skill | Use the skill pdf')
    expect(label('other', 'mcp__a__b', 'a: b')).toBe('Tool | a: b')
  })

  it('has requested diffs only if the result has none and the input was not edited', () => {
    const diffs = [{ path: 'a', before: null, after: 'x' }]
    const asked = {
      requestId: 'r',
      tool: 'Write',
      kind: 'edit',
      title: 'a',
      input: {},
      inputHash: '',
    } as const
    const request = (resolution?: object) =>
      ({
        type: 'permission',
        id: 'r',
        seq: 1,
        at: 1,
        request: { ...asked, readOnly: false, options: [], diffs },
        ...(resolution && { resolution }),
      }) as BlockOf<'permission'>
    const input = { file_path: 'a', content: 'x' }
    const call = { kind: 'edit' as const, title: 'Write a', input, content: [] }
    expect(wantedDiffs(call, request())).toEqual(diffs)
    expect(wantedDiffs({ content: [{ type: 'text', text: 'failed' }] }, request())).toEqual(diffs)
    expect(wantedDiffs({ content: [{ type: 'diff', path: 'a' }] }, request())).toEqual([])
    expect(wantedDiffs(call, request({ outcome: 'allowed', input: { content: 'y' } }))).toEqual([])
    const block = {
      ...call,
      type: 'tool-call',
      id: 'c',
      seq: 1,
      at: 1,
      name: 'Write',
      status: 'running',
    } as const
    expect(withEditedInput(block, request({ outcome: 'allowed', input: { content: 'y' } })).input).toEqual({
      content: 'y',
    })
    expect(withEditedInput(block, request())).toBe(block)
    expect(inputOf(call)).toEqual({ type: 'json' })
    expect(inputOf(call, diffs)).toBeUndefined()
  })

  it('finds the command and the plan in any input', () => {
    expect(commandOf({ command: 'ls' })).toBe('ls')
    expect(commandOf({ command: ['ls', '-l'] })).toBe('ls -l')
    for (const input of [undefined, null, 'x', { command: 3 }, []]) expect(commandOf(input)).toBeUndefined()
    expect(planOf({ plan: '1. x' })).toBe('1. x')
    expect(planOf({})).toBeUndefined()
  })

  it('has the exit code and the first line of the result', () => {
    expect(
      exitCodeOf([
        { type: 'text', text: 'a' },
        { type: 'terminal', output: '', exitCode: 2 },
      ]),
    ).toBe(2)
    expect(exitCodeOf([{ type: 'terminal', output: '', exitCode: null }])).toBeUndefined()
    expect(firstLine([{ type: 'text', text: '\n\nfirst\nsecond' }])).toBe('first')
  })

  it('accepts no picture that can contain scripts', () => {
    expect(pictureAddress({ mimeType: 'image/png', data: 'AAAA' })).toBe('data:image/png;base64,AAAA')
    expect(pictureAddress({ mimeType: 'image/svg+xml', data: 'AAAA' })).toBeUndefined()
    expect(pictureAddress({ mimeType: 'image/png', data: '"><script>' })).toBeUndefined()
  })

  it('writes circular and deeply nested values as text', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(asJson(circle)).toContain('cannot be shown')
    let deep: unknown = '[[['
    expect(asJson({ deep })).toBe('{\n  "deep": "[[["\n}')
    for (let level = 0; level < 100; level++) deep = [deep]
    expect(asJson(deep)).toBe(JSON.stringify(deep))
    expect(asJson(undefined)).toBe('')
  })
})
