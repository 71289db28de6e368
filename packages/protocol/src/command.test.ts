import { describe, expect, it } from 'vitest'
import { Command } from './command.ts'

const id = { commandId: 'cmd_1' }
const seen = { path: 'a', blob: '0'.repeat(40) }
const image = { type: 'image', mimeType: 'image/png', data: 'aGVsbG8=' }

describe('a valid command', () => {
  it.each([
    [{ type: 'prompt.submit', text: 'hi' }, { delivery: 'queue' }],
    [{ type: 'prompt.submit', text: 'hi', delivery: 'steer' }, {}],
    [{ type: 'prompt.submit', parts: [{ type: 'text', text: 'hi' }, image] }, { delivery: 'queue' }],
    [{ type: 'prompt.withdraw', promptId: 'prm_1' }, {}],
    [{ type: 'prompt.move', promptId: 'prm_2', before: 'prm_1' }, {}],
    [{ type: 'turn.cancel' }, {}],
    [{ type: 'turn.cancel', turnId: 'trn_1' }, {}],
    [{ type: 'turn.cancel', pauseQueue: false }, {}],
    [{ type: 'queue.resume' }, {}],
    [{ type: 'permission.decide', requestId: 'req_1', decision: 'allow' }, { scope: 'once' }],
    [{ type: 'permission.decide', requestId: 'req_1', decision: 'deny', scope: 'always', endTurn: true }, {}],
    [
      { type: 'permission.decide', requestId: 'r', decision: 'allow', input: { a: [1] }, message: 'ok' },
      { scope: 'once' },
    ],
    [{ type: 'question.answer', requestId: 'req_1', answers: { a: 'x', b: ['y', 'z'] } }, {}],
    [{ type: 'session.configure', model: 'large', mode: 'plan', options: { effort: 'high' } }, {}],
    [{ type: 'session.fork' }, {}],
    [{ type: 'session.fork', title: 'Copy', before: 'prm_1' }, {}],
    [{ type: 'session.rewind', promptId: 'prm_1' }, {}],
    [{ type: 'session.rewind', promptId: 'prm_1', files: false, talk: true }, {}],
    [{ type: 'session.unrewind' }, {}],
    [{ type: 'session.close' }, {}],
    [{ type: 'changes.discard', base: '', files: [{ path: 'a', blob: '0'.repeat(40) }] }, {}],
    [{ type: 'session.compact' }, {}],
  ])('%j gets the defaults %j', (fields, defaults) => {
    expect(Command.parse({ ...id, ...fields })).toStrictEqual({ ...id, ...fields, ...defaults })
  })
})

describe('a submitted prompt', () => {
  it.each([
    ['neither text nor parts', {}],
    ['both text and parts', { text: 'hi', parts: [{ type: 'text', text: 'hi' }] }],
    ['an empty text', { text: '' }],
    ['a blank text', { text: ' \n\t ' }],
    ['no parts', { parts: [] }],
    [
      'only blank parts',
      {
        parts: [
          { type: 'text', text: '' },
          { type: 'text', text: ' \n' },
        ],
      },
    ],
    ['an unknown part', { parts: [{ type: 'smell', text: 'rose' }] }],
    ['an image that is not base64', { parts: [{ ...image, data: '#' }] }],
    ['an unknown delivery', { text: 'hi', delivery: 'now' }],
  ])('is refused with %s', (_, fields) => {
    expect(Command.safeParse({ ...id, type: 'prompt.submit', ...fields }).success).toBe(false)
  })

  it('may be an image alone', () => {
    expect(Command.safeParse({ ...id, type: 'prompt.submit', parts: [image] }).success).toBe(true)
  })
})

describe('a command', () => {
  it.each([
    ['of an unknown type', { type: 'session.explode' }],
    ['with a base that is an option of git', { type: 'changes.discard', base: '-x', files: [seen] }],
    ['without files', { type: 'changes.stage', files: [] }],
    ['with a path that is cut', { type: 'changes.stage', files: [{ ...seen, path: 'a\0' }] }],
    ['with an empty message', { type: 'changes.commit', message: ' ', files: [seen] }],
    ['with a commit that is an option of git', { type: 'branch.push', branch: 'x', commit: '--all' }],
    ['without a type', {}],
    ['without an id', { type: 'session.close', commandId: undefined }],
    ['with an empty id', { type: 'session.close', commandId: '' }],
    ['with an id that is not a string', { type: 'session.close', commandId: 7 }],
    ['with an unknown decision', { type: 'permission.decide', requestId: 'r', decision: 'maybe' }],
    ['with an unknown scope', { type: 'permission.decide', requestId: 'r', decision: 'allow', scope: 'day' }],
    [
      'with a string for a boolean',
      { type: 'permission.decide', requestId: 'r', decision: 'deny', endTurn: 'yes' },
    ],
    ['with answers that are an array', { type: 'question.answer', requestId: 'r', answers: ['x'] }],
    ['with an answer that is a number', { type: 'question.answer', requestId: 'r', answers: { a: 1 } }],
    ['without the request it answers', { type: 'question.answer', answers: { a: 'x' } }],
    ['with an unknown mode', { type: 'session.configure', mode: 'yolo' }],
    ['with an unknown option', { type: 'session.configure', options: { temperature: 1 } }],
    ['with an option of a wrong type', { type: 'session.configure', options: { maxTurns: 0 } }],
    ['with a title that is not a string', { type: 'session.fork', title: 5 }],
    ['that is a string', 'session.close'],
    ['that is null', null],
  ])('%s is refused', (_, fields) => {
    const value = typeof fields === 'object' && fields ? { ...id, ...fields } : fields
    expect(Command.safeParse(value).success).toBe(false)
  })

  it.each([
    { type: 'prompt.submit', text: 'hi' },
    { type: 'prompt.withdraw', promptId: 'p' },
    { type: 'turn.cancel' },
    { type: 'queue.resume' },
    { type: 'permission.decide', requestId: 'r', decision: 'allow' },
    { type: 'question.answer', requestId: 'r', answers: {} },
    { type: 'session.configure', mode: 'ask' },
    { type: 'session.fork' },
    { type: 'session.close' },
    { type: 'session.compact' },
  ])('with a field that $type does not have is refused', (fields) => {
    expect(Command.safeParse({ ...id, ...fields }).success).toBe(true)
    expect(Command.safeParse({ ...id, ...fields, force: true }).success).toBe(false)
  })
})
