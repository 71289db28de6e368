import { type FormEvent, useRef, useState } from 'react'
import { useAgents } from '../page/agents.ts'
import { client } from '../page/client.ts'
import { useFocusBack } from '../page/focus.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { Button } from '../parts/button.tsx'
import { Labelled, Text } from './form-parts.tsx'
import { emptyRule, type RuleForm, ruleOf } from './rule-form.logic.ts'

const decisions: readonly [RuleForm['decision'], string][] = [
  ['deny', 'Deny'],
  ['ask', 'Always ask'],
  ['allow', 'Allow'],
]

/** A rule that no question was asked for: what an agent may never do, or may always. */
export function AddRule({ onAdded }: { onAdded: () => void }) {
  const { agents } = useAgents()
  const [open, setOpen] = useState(false)
  const [form, setForm] = useState(emptyRule)
  const [problem, setProblem] = useState('')
  const write = (fields: Partial<RuleForm>) => {
    setForm({ ...form, ...fields })
    setProblem('')
  }
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const made = ruleOf(form)
    if ('problem' in made) return setProblem(made.problem)
    try {
      await client.call('createRule', { body: made.rule })
      setForm(emptyRule)
      setOpen(false)
      onAdded()
    } catch (thrown) {
      setProblem(problemWords(thrown))
    }
  }
  const button = useRef<HTMLDivElement>(null)
  useFocusBack(open, () => button.current?.querySelector('button'))
  if (!open) {
    return (
      <div ref={button} className="pt-3">
        <Button onClick={() => setOpen(true)}>Add a rule</Button>
      </div>
    )
  }
  return (
    <form
      aria-label="A new rule"
      onSubmit={(event) => void add(event)}
      className="mt-3 flex flex-col gap-3 rounded-lg border border-edge bg-card p-3.5 text-sm"
    >
      <div className="grid gap-3 sm:grid-cols-[9rem_1fr]">
        <Labelled label="Decision">
          <select
            value={form.decision}
            onChange={(event) => write({ decision: event.target.value as RuleForm['decision'] })}
            className="field w-full pointer-coarse:min-h-11"
          >
            {decisions.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </Labelled>
        <Labelled label="Tool, as the agent calls it; * is every tool">
          <Text value={form.tool} placeholder="Bash" first onWrite={(tool) => write({ tool })} />
        </Labelled>
        <Labelled label="Field of its input">
          <Text value={form.field} placeholder="command" onWrite={(field) => write({ field })} />
        </Labelled>
        <Labelled label="Its whole text; * stands for anything. Empty: every use of the tool">
          <Text value={form.text} placeholder="*git push*" onWrite={(text) => write({ text })} />
        </Labelled>
        <Labelled label="Agent">
          <select
            value={form.agent}
            onChange={(event) => write({ agent: event.target.value })}
            className="field w-full pointer-coarse:min-h-11"
          >
            <option value="">Every agent</option>
            {agents.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </Labelled>
        <Labelled label="Folder. Empty: everywhere">
          <Text value={form.folder} placeholder="~/project" onWrite={(folder) => write({ folder })} />
        </Labelled>
      </div>
      {form.decision === 'allow' ? (
        <div className="flex flex-col gap-1.5">
          <Check
            label="Also files outside the session’s folder"
            checked={form.outside}
            onChange={(outside) => write({ outside })}
          />
          <Check
            label="Also changes of protected files: settings of git, agents, editors and shells"
            checked={form.protected}
            onChange={(covers) => write({ protected: covers })}
          />
        </div>
      ) : (
        <p className="text-xs text-soft">
          For a command this compares text: each simple command of a line, also behind sudo, env or sh -c. It
          is no sandbox: a script or another program can do the same.
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <p role="alert" className="min-w-0 flex-1 text-bad [overflow-wrap:anywhere]">
          {problem}
        </p>
        <Button look="quiet" onClick={() => setOpen(false)}>
          Cancel
        </Button>
        <Button look="primary" type="submit">
          Add
        </Button>
      </div>
    </form>
  )
}

function Check({
  label,
  checked,
  onChange,
}: {
  label: string
  checked: boolean
  onChange: (checked: boolean) => void
}) {
  return (
    <label className="flex items-center gap-1.5 text-sm text-soft pointer-coarse:min-h-11">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  )
}
