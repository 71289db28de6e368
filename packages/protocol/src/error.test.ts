import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ErrorBody, ErrorCode, errorInfoOf, ParleyError, validationError } from './error.ts'

describe('the error codes', () => {
  it('are the closed list of the design', () => {
    const design =
      'validation_error unauthorized forbidden not_found conflict not_supported agent_not_found agent_not_signed_in agent_failed cancelled too_large rate_limited busy internal_error'
    expect(ErrorCode.options).toEqual(design.split(' '))
  })
})

describe('a ParleyError', () => {
  it('is the same after a round trip over the wire', () => {
    const error = new ParleyError('busy', 'Wait.', { details: { queued: 3 } })
    const body = ErrorBody.parse(JSON.parse(JSON.stringify({ error: error.toInfo() })))
    const again = ParleyError.from(body.error)
    expect(again).toBeInstanceOf(ParleyError)
    expect(again).toMatchObject({ code: 'busy', message: 'Wait.', details: { queued: 3 } })
  })

  it('without details has no details on the wire', () => {
    expect(new ParleyError('busy', 'Wait.').toInfo()).toStrictEqual({ code: 'busy', message: 'Wait.' })
  })

  it('of another copy of this package is recognised, and is not an instance of a subclass', async () => {
    // A query makes Node load the module again.
    const copy: typeof import('./error.ts') = await import(`./error.ts?copy=${Date.now()}`)
    const foreign: unknown = new copy.ParleyError('busy', 'Wait.')
    class Narrower extends ParleyError {}
    expect(Object.getPrototypeOf(foreign)).not.toBe(ParleyError.prototype)
    expect(foreign).toBeInstanceOf(ParleyError)
    expect(errorInfoOf(foreign)).toEqual({ code: 'busy', message: 'Wait.' })
    expect([foreign instanceof Narrower, new Narrower('busy', '') instanceof Narrower]).toEqual([false, true])
    expect([new Error('busy'), { code: 'busy' }, null].some((one) => one instanceof ParleyError)).toBe(false)
  })

  it('does not send its cause', () => {
    const error = new ParleyError('busy', 'Wait.', { cause: new Error('disk') })
    expect(error.cause).toEqual(new Error('disk'))
    expect(JSON.stringify(error.toInfo())).not.toContain('disk')
  })
})

describe('errorInfoOf', () => {
  it('returns the code and message of a ParleyError', () => {
    expect(errorInfoOf(new ParleyError('conflict', 'Too late.'))).toEqual({
      code: 'conflict',
      message: 'Too late.',
    })
  })

  it.each([[new Error('secret')], ['secret'], [{ code: 'conflict', message: 'secret' }], [undefined]])(
    'reveals nothing of any other thrown value',
    (thrown) => {
      const info = errorInfoOf(thrown)
      expect(info.code).toBe('internal_error')
      expect(JSON.stringify(info)).not.toContain('secret')
    },
  )
})

describe('validationError', () => {
  const schema = z.strictObject({ list: z.array(z.object({ size: z.int().max(3) })) })
  const problemOf = (value: unknown) => validationError('The body', schema.safeParse(value).error!)

  it('names the place of the first issue, and lists all issues', () => {
    const error = problemOf({ list: [{ size: 1 }, { size: 9 }, { size: 'x' }] })
    expect(error.code).toBe('validation_error')
    expect(error.message).toMatch(/^The body is not valid at list\.1\.size: /)
    expect(error.details?.issues).toMatchObject([{ path: 'list.1.size' }, { path: 'list.2.size' }])
  })

  it('reports, for a union, the issues of the member that was meant', () => {
    const either = z.object({ prompt: z.union([z.string().min(1), z.array(z.object({ size: z.int() }))]) })
    const messageFor = (prompt: unknown) =>
      validationError('The body', either.safeParse({ prompt }).error!).message
    expect(messageFor([{ size: 1 }, { size: 'x' }])).toMatch(/^The body is not valid at prompt\.1\.size: /)
    expect(messageFor('')).toMatch(/^The body is not valid at prompt: Too small/)
    expect(messageFor(5)).toMatch(/^The body is not valid at prompt: Invalid input/)
  })

  it('names no place if the whole value is wrong', () => {
    expect(problemOf('words').message).toMatch(/^The body is not valid: /)
  })
})
