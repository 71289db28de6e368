import { describe, expect, it } from 'vitest'
import { formFields, missingScope, patchOf, textsOf } from './project-form.logic.ts'

describe('the form of a project', () => {
  const before = textsOf({ name: 'Shop', copy: ['.env', 'config/*.local'], keepDays: 7 })

  it('sends only the settings that were changed; an emptied one is removed', () => {
    expect(patchOf(before, before)).toEqual({})
    expect(patchOf(before, { ...before, name: ' ', base: ' main ' })).toEqual({ name: null, base: 'main' })
  })

  it('sends each line of the files to copy, and the days as a number', () => {
    const after = { ...before, copy: '.env\n\n  keys/*  \n', keepDays: '30' }
    expect(patchOf(before, after)).toEqual({ copy: ['.env', 'keys/*'], keepDays: 30 })
  })

  it('names the scope that a setting needs and the person lacks', () => {
    const lacks = (scopes: string[]) =>
      Object.fromEntries(
        formFields.map((field) => [field.key, missingScope(field, (scope) => scopes.includes(scope))]),
      )
    expect(lacks(['read', 'prompt'])).toEqual({
      ...{ name: undefined, base: 'admin', setup: 'admin', check: 'admin', copy: 'admin' },
      keepDays: 'admin',
    })
    expect(lacks(['prompt', 'admin'])).toMatchObject({
      ...{ base: 'decide', setup: 'decide', check: 'decide', copy: 'decide', keepDays: undefined },
    })
    expect(lacks(['read'])).toMatchObject({ name: 'prompt' })
  })
})
