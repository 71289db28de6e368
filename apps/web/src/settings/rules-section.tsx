import { isAtSeveralPlaces, type NewRule, type NewTrust, type PermissionRule } from '@parley/protocol'
import { otherActorText } from '../base/actor-text.logic.ts'
import { useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords, visible } from '../base/format.logic.ts'
import { useMay, useSelf } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { Link } from '../parts/link.tsx'
import { toast } from '../parts/toasts.tsx'
import { AddForm } from './add-form.tsx'
import { Check, Labelled, Select } from './form-parts.tsx'
import { emptyRule, type RuleForm, reachText, ruleOf } from './rule-form.logic.ts'
import { Section } from './section.tsx'
import { useServerList } from './use-server-list.ts'

const listRules = () => client.call('listRules').then(({ rules }) => rules)

/** All rules. Each can be removed here. */
export function RulesSection() {
  const { list: rules, problem, reload, change } = useServerList(listRules)
  const administers = useMay('admin')
  const revoke = ({ ruleId, createdAt, createdBy, ...rule }: PermissionRule) =>
    change(async () => {
      await client.call('deleteRule', { params: { id: ruleId } })
      const restore = () => change(() => client.call('createRule', { body: rule }))
      toast('Revoked.', { action: { label: 'Undo', run: restore } })
    })
  return (
    <Section
      title="Rules and grants"
      purpose="What agents may do without asking, and what they may never do. Deny overrides allow. Rules are added on this page and by “Allow for…” answers. A rule that denies a command compares only the text of the command, so it is not a sandbox."
      adminWork="Changing rules"
      problem={problem}
    >
      {!rules && <p className="text-sm text-faint">Loading…</p>}
      {rules?.length === 0 && (
        <p className="text-sm">No rules. The mode of a session decides when its agent asks.</p>
      )}
      <ul className="flex flex-col gap-2">
        {rules?.map((rule) => (
          <RuleRow
            key={rule.ruleId}
            rule={rule}
            showsPlace={isAtSeveralPlaces(rules)}
            onRevoke={administers ? () => revoke(rule) : undefined}
          />
        ))}
      </ul>
      {administers && <AddRule onAdded={reload} />}
    </Section>
  )
}

const decisionNames = { allow: 'Allow', ask: 'Ask', deny: 'Deny', disable: 'Disable' }

type RuleRowProps = { rule: PermissionRule; showsPlace: boolean; onRevoke: (() => void) | undefined }

function RuleRow({ rule, showsPlace, onRevoke }: RuleRowProps) {
  const now = useNow()
  const other = otherActorText(rule.createdBy, useSelf())
  const fields = Object.entries({ ...rule.match, ...rule.exact })
  return (
    <li className="flex items-center gap-3 rounded-lg border border-line bg-card px-3.5 py-2 text-sm">
      <span className={`w-14 shrink-0 font-semibold ${rule.decision === 'allow' ? 'text-good' : 'text-bad'}`}>
        {decisionNames[rule.decision]}
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
        <span className="flex flex-wrap gap-x-1.5 text-xs text-faint">
          <Where rule={rule} /> {showsPlace && rule.place && <span>· at {visible(rule.place)}</span>}{' '}
          {rule.agent && <span>· only {rule.agent}</span>}{' '}
          <span>
            · added {agoInWords(rule.createdAt, now)}
            {byText(other)}
          </span>
        </span>
      </span>
      {onRevoke && (
        <Button
          look="danger"
          onClick={onRevoke}
          aria-label={`Revoke: ${rule.tool} ${Object.values(rule.match ?? {}).join(' ')}`}
        >
          Revoke
        </Button>
      )}
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
  if (rule.scope === 'project') return <span className="truncate">{rule.project}</span>
  return <span>everywhere</span>
}

const decisions: readonly [RuleForm['decision'], string][] = [
  ['deny', 'Deny'],
  ['ask', 'Always ask'],
  ['allow', 'Allow'],
]

const addRule = (body: NewRule) => client.call('createRule', { body })

/** Adds a rule by hand. Other rules come from answers. */
function AddRule({ onAdded }: { onAdded: () => void }) {
  const { agents } = useAgents()
  const form = { empty: emptyRule, read: ruleOf, send: addRule, onAdded }
  return (
    <AddForm button="Add a rule" label="New rule" {...form}>
      {({ fields, write, text }) => (
        <>
          <div className="grid gap-3 sm:grid-cols-[9rem_1fr]">
            <Labelled label="Decision">
              <Select
                value={fields.decision}
                options={decisions}
                onChoose={(decision) => write({ decision: decision as RuleForm['decision'] })}
              />
            </Labelled>
            {text('tool', 'Tool, as the agent names it (* for every tool)', 'Bash', { first: true })}
            {text('field', 'Field of the tool’s input', 'command')}
            {text('text', 'Pattern (* matches anything; empty: every use of the tool)', '*git push*')}
            <Labelled label="Agent">
              <Select
                value={fields.agent}
                options={[['', 'Every agent'], ...agents.map(({ id, name }) => [id, name] as const)]}
                onChoose={(agent) => write({ agent })}
              />
            </Labelled>
            {text('folder', 'Folder (empty: everywhere)', '~/project')}
          </div>
          <Reach form={fields} write={write} />
        </>
      )}
    </AddForm>
  )
}

/** The choice of the further files that an allow rule covers. For other rules, a note that a rule is not a sandbox. */
function Reach({ form, write }: { form: RuleForm; write: (change: Partial<RuleForm>) => void }) {
  if (form.decision !== 'allow') {
    return (
      <p className="text-xs text-soft">
        The pattern is compared with the text of each simple command in a line, even after sudo, env or sh -c.
        This is not a sandbox: a script or another program can still do what the command does.
      </p>
    )
  }
  return (
    <div className="flex flex-col gap-1.5">
      <Check
        label="Also files outside the session’s folder"
        checked={form.outside}
        onChange={(outside) => write({ outside })}
      />
      <Check
        label="Include protected files: settings of git, agents, editors and shells"
        checked={form.protected}
        onChange={(covers) => write({ protected: covers })}
      />
    </div>
  )
}

const byText = (other: string | undefined) => (other === undefined ? '' : ` by ${other}`)

const listFolders = () => client.call('listTrustedFolders').then(({ folders }) => folders)

/** The folders whose settings, hooks and MCP servers agents may load. */
export function TrustSection() {
  const { list: folders, problem, change } = useServerList(listFolders)
  const administers = useMay('admin')
  const self = useSelf()
  const now = useNow()
  const revoke = (folder: NewTrust) =>
    change(async () => {
      await client.call('distrustFolder', { query: folder })
      const restore = () => change(() => client.call('trustFolder', { body: folder }))
      toast('Folder no longer trusted.', { action: { label: 'Undo', run: restore } })
    })
  return (
    <Section
      title="Trusted folders"
      purpose="Agents load settings, hooks and MCP servers from these folders and the folders inside them."
      adminWork="Trusting a folder, or revoking its trust,"
      problem={problem}
    >
      {folders?.length === 0 && (
        <p className="text-sm">No trusted folders. Agents load only your own settings.</p>
      )}
      <ul className="flex flex-col gap-2">
        {folders?.map(({ trustedAt, trustedBy, ...trusted }) => (
          <li
            key={`${trusted.folder} ${trusted.place}`}
            className="flex items-center gap-3 rounded-lg border border-line bg-card px-3.5 py-2 text-sm"
          >
            <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-1">
              <span className="min-w-0 grow basis-48 text-xs [overflow-wrap:anywhere]">{trusted.folder}</span>
              {isAtSeveralPlaces(folders) && trusted.place && (
                <span className="text-xs text-faint">at {visible(trusted.place)}</span>
              )}
              <span className="text-xs text-faint">
                Trusted {agoInWords(trustedAt, now)}
                {byText(otherActorText(trustedBy, self))}
              </span>
            </div>
            {administers && (
              <Button
                look="danger"
                aria-label={`Revoke trust of ${trusted.folder}`}
                onClick={() => revoke(trusted)}
              >
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}
