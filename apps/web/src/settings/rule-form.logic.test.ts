import { expect, it } from 'vitest'
import { emptyRule, reachText, ruleOf } from './rule-form.logic.ts'

it('makes a rule of the fields that are filled in', () => {
  expect(ruleOf({ ...emptyRule, tool: ' Bash ' })).toEqual({
    body: { decision: 'deny', tool: 'Bash', scope: 'always' },
  })
  expect(
    ruleOf({
      ...emptyRule,
      decision: 'allow',
      tool: 'Bash',
      field: 'command',
      text: 'npm run *',
      folder: ' ~/shop ',
      agent: 'claude',
    }),
  ).toEqual({
    body: {
      decision: 'allow',
      tool: 'Bash',
      match: { command: 'npm run *' },
      scope: 'project',
      project: '~/shop',
      agent: 'claude',
    },
  })
})

it.each([
  ['without a tool', {}, /tool name/],
  ['with a text and no field', { tool: 'Bash', field: ' ', text: 'rm *' }, /field of the tool’s input/],
  ['with a relative folder', { tool: 'Bash', folder: 'shop' }, /full path/],
  ['that allows everything', { tool: '*', decision: 'allow' as const }, /allow everything/],
])('refuses a rule %s', (_, fields, why) => {
  expect(ruleOf({ ...emptyRule, ...fields })).toEqual({ problem: expect.stringMatching(why) })
})

it('sets outside and protected only in a rule that allows', () => {
  const far = { ...emptyRule, tool: 'Edit', outside: true, protected: true }
  expect(ruleOf({ ...far, decision: 'allow' })).toMatchObject({ body: { outside: true, protected: true } })
  expect(ruleOf(far)).toEqual({ body: { decision: 'deny', tool: 'Edit', scope: 'always' } })
  expect(reachText({})).toBe('')
  expect(reachText({ outside: true, protected: true })).toBe(
    'files outside the folder and protected files, too',
  )
})
