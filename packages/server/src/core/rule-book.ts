import { type Actor, defined, NewRule, ParleyError, type PermissionRule } from '@parley/protocol'
import { checked } from './checked.ts'
import type { Clock, Ids } from './clock.ts'
import { placed } from './folder-trust.ts'
import { hashOf } from './hash.ts'
import type { HostOptions } from './host-options.ts'
import type { SessionStore } from './session-store.ts'
import type { SharedSettings } from './shared-settings.ts'
import { type SettingsCopy, StoredList } from './stored-list.ts'

export type Rules = {
  rules(): Promise<PermissionRule[]>
  addRule(rule: NewRule, by?: Actor): Promise<PermissionRule>
  removeRule(ruleId: string): Promise<void>
}

/** The rules of a host: a copy in memory of the stored rules. */
export type RuleBook = SettingsCopy & {
  /** The rules that apply to sessions at this place; by default the place of this process. */
  at(place?: string): readonly PermissionRule[]
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
  projectOf?: NonNullable<HostOptions['projectOf']>
  /** Rejects for an unknown session. */
  expectSession: (sessionId: string) => Promise<unknown>
  place: string | undefined
  shared?: SharedSettings | undefined
}): Promise<RuleBook & { methods: Rules }> {
  const { store, clock, ids, expectSession, place, shared } = options
  const list = await StoredList.load(() => store.rules())
  const without = (ruleId: string) => list.items.filter((rule) => rule.ruleId !== ruleId)
  const add = (rule: PermissionRule) => {
    list.items = [...without(rule.ruleId), rule]
  }

  const methods: Rules = {
    rules: async () => [...list.items],
    async addRule(given, by) {
      const input = checked(NewRule, given, 'The rule')
      const where = input.project !== undefined && (await ruledProject(options, input.project, input.place))
      const wanted = { ...input, ...where }
      const same = list.items.find(
        ({ ruleId, createdAt, createdBy, ...rule }) => hashOf(rule) === hashOf(wanted),
      )
      const rule = same ?? {
        ...wanted,
        ruleId: ids('rule'),
        createdAt: clock.now(),
        ...defined({ createdBy: by }),
      }
      if (!same) {
        if (rule.sessionId !== undefined) await expectSession(rule.sessionId)
        await store.addRule(rule)
        add(rule)
      }
      await shared?.changed()
      return rule
    },
    async removeRule(ruleId) {
      const isRemoved = await store.removeRule(ruleId)
      list.items = without(ruleId)
      await shared?.changed()
      if (!isRemoved)
        throw new ParleyError('not_found', `There is no rule ${ruleId}. List the rules to see their ids.`)
    },
  }

  return {
    methods,
    at: (at = place) => list.items.filter((rule) => rule.scope !== 'project' || rule.place === at),
    granted(rules) {
      for (const rule of rules) add(rule)
    },
    forgetSession(sessionId) {
      list.items = list.items.filter((rule) => rule.sessionId !== sessionId)
    },
    reload: () => list.reload(),
  }
}

/**
 * The project that a rule for a folder applies to. Sessions store the real path of their folder, so a rule with another
 * path to that folder would match no session. The top folder of a work tree stands for its project. Another folder
 * inside a repository stands only for itself: a rule must not cover more than the person has named.
 */
async function ruledProject(
  options: Pick<HostOptions, 'checkFolder' | 'projectOf'> & { readonly place: string | undefined },
  given: string,
  at: string | undefined,
): Promise<{ readonly project: string; readonly place?: string }> {
  const { folder, place } = await placed(options, given, at)
  const found = place === options.place ? await options.projectOf?.(folder) : undefined
  return { project: found?.isRoot ? found.project : folder, ...defined({ place }) }
}
