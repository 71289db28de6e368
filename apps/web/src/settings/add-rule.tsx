import { useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { AddForm } from './add-form.tsx'
import { Check, Labelled, Select, Text } from './form-parts.tsx'
import { emptyRule, type RuleForm, ruleOf } from './rule-form.logic.ts'

const decisions: readonly [RuleForm['decision'], string][] = [
  ['deny', 'Deny'],
  ['ask', 'Always ask'],
  ['allow', 'Allow'],
]

/** Adds a rule by hand. Other rules come from answers. */
export function AddRule({ onAdded }: { onAdded: () => void }) {
  const { agents } = useAgents()
  const add = async (form: RuleForm) => {
    const made = ruleOf(form)
    if ('problem' in made) return made.problem
    await client.call('createRule', { body: made.rule })
    onAdded()
  }
  return (
    <AddForm button="Add a rule" label="New rule" empty={emptyRule} onAdd={add}>
      {(form, write) => (
        <>
          <div className="grid gap-3 sm:grid-cols-[9rem_1fr]">
            <Labelled label="Decision">
              <Select
                value={form.decision}
                options={decisions}
                onChoose={(decision) => write({ decision: decision as RuleForm['decision'] })}
              />
            </Labelled>
            <Labelled label="Tool, as the agent names it (* for every tool)">
              <Text value={form.tool} placeholder="Bash" first onWrite={(tool) => write({ tool })} />
            </Labelled>
            <Labelled label="Input field">
              <Text value={form.field} placeholder="command" onWrite={(field) => write({ field })} />
            </Labelled>
            <Labelled label="Pattern (* matches anything; empty: every use of the tool)">
              <Text value={form.text} placeholder="*git push*" onWrite={(text) => write({ text })} />
            </Labelled>
            <Labelled label="Agent">
              <Select
                value={form.agent}
                options={[['', 'Every agent'], ...agents.map(({ id, name }) => [id, name] as const)]}
                onChoose={(agent) => write({ agent })}
              />
            </Labelled>
            <Labelled label="Folder (empty: everywhere)">
              <Text value={form.folder} placeholder="~/project" onWrite={(folder) => write({ folder })} />
            </Labelled>
          </div>
          <Reach form={form} write={write} />
        </>
      )}
    </AddForm>
  )
}

/** The files that an allow rule also covers; for other rules, a note on their limits. */
function Reach({ form, write }: { form: RuleForm; write: (change: Partial<RuleForm>) => void }) {
  if (form.decision !== 'allow') {
    return (
      <p className="text-xs text-soft">
        For commands this compares text: each simple command of a line, also after sudo, env or sh -c. It is
        not a sandbox: a script or another program can do the same.
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
        label="Also protected files: settings of git, agents, editors and shells"
        checked={form.protected}
        onChange={(covers) => write({ protected: covers })}
      />
    </div>
  )
}
