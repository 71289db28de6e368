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

  it('ignores a field whose value is undefined', () => {
    expect(hashOf({ a: 1, b: undefined })).toBe(hashOf({ a: 1 }))
    expect(hashOf({ a: 1, b: null })).not.toBe(hashOf({ a: 1 }))
  })

  it.each([
    ['the order of an array', [1, 2], [2, 1]],
    ['a number and its text', 1, '1'],
    ['null and an empty string', null, ''],
    ['an array and an object', [], {}],
    ['the end of a string', ['a', 'b'], ['a,b']],
    ['a key and its value', { a: 'b' }, { b: 'a' }],
    ['a quote inside a key', { 'a":"b': 'c' }, { a: 'b":"c' }],
    ['the nesting', [[1], 2], [[1, 2]]],
  ])('distinguishes %s', (_, one, other) => {
    expect(hashOf(one)).not.toBe(hashOf(other))
  })

  it('is the same after a round trip through JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(hashOf(JSON.parse(JSON.stringify(value)))).toBe(hashOf(value))
      }),
    )
  })

  it('equals the hash of the JSON text with sorted keys', () => {
    const value = { a: [1, 'two', null, { b: [] }], c: {}, d: true }
    expect(hashOf(value)).toBe(createHash('sha256').update(JSON.stringify(value)).digest('base64url'))
  })

  it('accepts deeply nested and long values', () => {
    const deep = JSON.parse(`${'{"a":['.repeat(20_000)}${']}'.repeat(20_000)}`)
    expect(hashOf(deep)).not.toBe(hashOf(deep.a))
    expect(hashOf(Array(300_000).fill(1))).not.toBe(hashOf(Array(300_001).fill(1)))
  })

  it('accepts a value that occurs twice, but not one that contains itself', () => {
    const shared = { a: 1 }
    expect(hashOf([shared, shared])).toBe(hashOf([{ a: 1 }, { a: 1 }]))
    const ring: { self?: unknown } = {}
    ring.self = [ring]
    expect(() => hashOf(ring)).toThrow('contains itself')
  })

  it('can be part of an id', () => {
    expect(hashOf('x')).toMatch(/^[\w-]{43}$/)
  })
})
