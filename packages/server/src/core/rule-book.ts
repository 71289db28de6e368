import { NewRule, ParleyError, type PermissionRule } from '@parley/protocol'
import { checked } from './checked.ts'
import type { Clock, Ids } from './clock.ts'
import { hashOf } from './hash.ts'
import type { SessionStore } from './session-store.ts'

export type Rules = {
  rules(): Promise<PermissionRule[]>
  addRule(rule: NewRule): Promise<PermissionRule>
  removeRule(ruleId: string): Promise<void>
}

/** The rules of a host: a copy in memory of the stored rules. */
export type RuleBook = {
  readonly current: readonly PermissionRule[]
  /** Adds rules that an answer granted. They were stored with the answer. */
  granted(rules: readonly PermissionRule[]): void
  /** Drops the rules of a session from memory. The store deletes them with the session. */
  forgetSession(sessionId: string): void
}

export async function createRuleBook(options: {
  store: SessionStore
  clock: Clock
  ids: Ids
  checkFolder: (folder: string) => Promise<string>
  /** Rejects for an unknown session. */
  expectSession: (sessionId: string) => Promise<unknown>
}): Promise<RuleBook & { methods: Rules }> {
  const { store, clock, ids, checkFolder, expectSession } = options
  let current = await store.rules()

  const methods: Rules = {
    rules: async () => [...current],
    async addRule(given) {
      const input = checked(NewRule, given, 'The rule')
      // Sessions store the real path of their folder, so a rule with another path to that folder would match no
      // session.
      const place = input.project !== undefined && { project: await checkFolder(input.project) }
      const wanted = { ...input, ...place }
      const same = current.find(({ ruleId, createdAt, ...rule }) => hashOf(rule) === hashOf(wanted))
      if (same) return same
      const rule: PermissionRule = { ...wanted, ruleId: ids('rule'), createdAt: clock.now() }
      if (rule.sessionId !== undefined) await expectSession(rule.sessionId)
      await store.addRule(rule)
      current = [...current, rule]
      return rule
    },
    async removeRule(ruleId) {
      if (!(await store.removeRule(ruleId))) {
        throw new ParleyError('not_found', `There is no rule ${ruleId}. List the rules to see their ids.`)
      }
      current = current.filter((rule) => rule.ruleId !== ruleId)
    },
  }

  return {
    methods,
    get current() {
      return current
    },
    granted(rules) {
      if (rules.length > 0) current = [...current, ...rules]
    },
    forgetSession(sessionId) {
      current = current.filter((rule) => rule.sessionId !== sessionId)
    },
  }
}
