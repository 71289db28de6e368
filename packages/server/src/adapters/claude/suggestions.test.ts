import type { PermissionUpdate } from '@anthropic-ai/claude-agent-sdk'
import { expect, it } from 'vitest'
import { suggestedGrants } from './permission.ts'

const rule = (ruleContent: string, destination: PermissionUpdate['destination']): PermissionUpdate => ({
  type: 'addRules',
  rules: [{ toolName: 'Bash', ruleContent }],
  behavior: 'allow',
  destination,
})

it("converts the agent's own suggestion to a rule", () => {
  const grants = suggestedGrants('Bash', { command: 'npm run build' }, [rule('npm run *', 'localSettings')])
  expect(grants).toEqual([
    {
      decision: 'allow',
      scope: 'project',
      label: 'Allow "npm run …" in this project',
      rule: { tool: 'Bash', match: { command: 'npm run *' } },
    },
  ])
})

it('suggests the same program with other arguments if the agent suggests nothing', () => {
  const [grant] = suggestedGrants('Bash', { command: 'git commit -m x' }, undefined)
  expect(grant).toMatchObject({ scope: 'project', rule: { match: { command: 'git commit *' } } })
})

it.each(['ls', 'make', 'npm test', 'a b; rm -rf /', 'echo $(x) y z', '/bin/sh -c x'])(
  'suggests nothing for %s',
  (command) => expect(suggestedGrants('Bash', { command }, undefined)).toEqual([]),
)

it('suggests nothing for shell syntax, and ignores a suggestion that is too wide', () => {
  expect(suggestedGrants('Bash', { command: 'npm run x && rm y' }, [rule('npm run *', 'session')])).toEqual(
    [],
  )
  expect(suggestedGrants('Bash', { command: 'npm run x' }, [rule('*', 'session')])).toMatchObject([
    { rule: { match: { command: 'npm run *' } } },
  ])
})
