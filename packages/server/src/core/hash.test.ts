import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashOf } from './hash.ts'

describe('hashOf', () => {
  it('does not depend on the order of keys, at any depth', () => {
    expect(hashOf({ a: 1, b: { c: [{ d: 1, e: 2 }], f: 2 } })).toBe(
      hashOf({ b: { f: 2, c: [{ e: 2, d: 1 }] }, a: 1 }),
    )
  })

  it('takes a field without a value for no field', () => {
    expect(hashOf({ a: 1, b: undefined })).toBe(hashOf({ a: 1 }))
    expect(hashOf({ a: 1, b: null })).not.toBe(hashOf({ a: 1 }))
  })

  it.each([
    ['the order of a list', [1, 2], [2, 1]],
    ['a number and its text', 1, '1'],
    ['nothing and an empty text', null, ''],
    ['a list and an object', [], {}],
    ['where a text ends', ['a', 'b'], ['a,b']],
    ['a key and its value', { a: 'b' }, { b: 'a' }],
    ['a quote inside a key', { 'a":"b': 'c' }, { a: 'b":"c' }],
    ['what is nested', [[1], 2], [[1, 2]]],
  ])('tells %s apart', (_, one, other) => {
    expect(hashOf(one)).not.toBe(hashOf(other))
  })

  it('is the same after a journey as JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(hashOf(JSON.parse(JSON.stringify(value)))).toBe(hashOf(value))
      }),
    )
  })

  it('is that of the JSON text when its keys are in order', () => {
    const value = { a: [1, 'two', null, { b: [] }], c: {}, d: true }
    expect(hashOf(value)).toBe(createHash('sha256').update(JSON.stringify(value)).digest('base64url'))
  })

  it('takes what is nested deep and what is long', () => {
    const deep = JSON.parse(`${'{"a":['.repeat(20_000)}${']}'.repeat(20_000)}`)
    expect(hashOf(deep)).not.toBe(hashOf(deep.a))
    expect(hashOf(Array(300_000).fill(1))).not.toBe(hashOf(Array(300_001).fill(1)))
  })

  it('takes a value that stands in two places, but none that holds itself', () => {
    const shared = { a: 1 }
    expect(hashOf([shared, shared])).toBe(hashOf([{ a: 1 }, { a: 1 }]))
    const ring: { self?: unknown } = {}
    ring.self = [ring]
    expect(() => hashOf(ring)).toThrow('holds itself')
  })

  it('can stand in an id', () => {
    expect(hashOf('x')).toMatch(/^[\w-]{43}$/)
  })
})
