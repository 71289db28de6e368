import type { PermissionRule } from '@parley/protocol'
import { useCallback, useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords, visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { Link } from '../parts/link.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { AddRule } from './add-rule.tsx'
import { reachText } from './rule-form.logic.ts'
import { Section } from './section.tsx'

/** All rules. Each can be removed here. */
export function RulesSection() {
  const [rules, setRules] = useState<readonly PermissionRule[]>()
  const load = useCallback(async () => {
    try {
      setRules((await client.call('listRules')).rules)
    } catch (thrown) {
      toastError(thrown)
    }
  }, [])
  useEffect(() => void load(), [load])
  const revoke = async (rule: PermissionRule) => {
    try {
      await client.call('deleteRule', { params: { id: rule.ruleId } })
      const { ruleId, createdAt, ...again } = rule
      const restore = () => void client.call('createRule', { body: again }).then(load, toastError)
      toast('Revoked.', { action: { label: 'Undo', run: restore } })
    } catch (thrown) {
      toastError(thrown)
    }
    await load()
  }
  return (
    <Section
      title="Rules and grants"
      purpose="What agents may do without asking, and what they may never do. Deny beats allow. Rules come from here and from “Allow for…” answers. A rule that denies a command compares its text: it is not a sandbox."
    >
      {!rules && <p className="text-sm text-faint">Loading…</p>}
      {rules?.length === 0 && (
        <p className="text-sm">No rules. Agents ask as the mode of their session says.</p>
      )}
      <ul className="flex flex-col gap-2">
        {rules?.map((rule) => (
          <RuleRow key={rule.ruleId} rule={rule} onRevoke={() => void revoke(rule)} />
        ))}
      </ul>
      <AddRule onAdded={() => void load()} />
    </Section>
  )
}

const decisions = { allow: 'Allow', ask: 'Ask', deny: 'Deny', disable: 'Disable' }

function RuleRow({ rule, onRevoke }: { rule: PermissionRule; onRevoke: () => void }) {
  const now = useNow()
  const fields = Object.entries({ ...rule.match, ...rule.exact })
  return (
    <li className="flex items-center gap-3 rounded-lg border border-line bg-card px-3.5 py-2 text-sm">
      <span className={`w-14 shrink-0 font-semibold ${rule.decision === 'allow' ? 'text-good' : 'text-bad'}`}>
        {decisions[rule.decision]}
      </span>
      <span className="min-w-0 flex-1">
        <span className="block [overflow-wrap:anywhere]">
          {rule.tool === '*' ? 'Every tool' : visible(rule.tool)}
          {fields.map(([field, value]) => (
            <code key={field} className="ml-2 rounded bg-sunk px-1 font-mono text-xs">
              {visible(`${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)}
            </code>
          ))}
          {rule.decision === 'allow' && <span className="ml-2 text-xs text-soft">{reachText(rule)}</span>}
        </span>
        <span className="flex gap-1.5 text-xs text-faint">
          <Where rule={rule} /> {rule.agent && <span>· only {rule.agent}</span>}{' '}
          <span>· added {agoInWords(rule.createdAt, now)}</span>
        </span>
      </span>
      <Button
        look="danger"
        onClick={onRevoke}
        aria-label={`Revoke: ${rule.tool} ${Object.values(rule.match ?? {}).join(' ')}`}
      >
        Revoke
      </Button>
    </li>
  )
}

function Where({ rule }: { rule: PermissionRule }) {
  if (rule.scope === 'session' && rule.sessionId !== undefined) {
    return (
      <Link
        to={{ name: 'session', id: rule.sessionId }}
        className="underline pointer-coarse:-my-3.5 pointer-coarse:py-3.5"
      >
        in one session
      </Link>
    )
  }
  if (rule.scope === 'project') return <span className="truncate font-mono">{rule.project}</span>
  return <span>everywhere</span>
}
