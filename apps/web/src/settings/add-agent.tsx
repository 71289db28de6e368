import { type FormEvent, useRef, useState } from 'react'
import { askForAgents } from '../page/agents.ts'
import { client } from '../page/client.ts'
import { useFocusBack } from '../page/focus.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { Button } from '../parts/button.tsx'
import { type AgentForm, agentOf, emptyAgent } from './agent-form.logic.ts'
import { Labelled, Text } from './form-parts.tsx'

/** A program of the person's own that speaks the Agent Client Protocol. */
export function AddAgent() {
  const [open, setOpen] = useState(false)
  const [form, setForm] = useState(emptyAgent)
  const [problem, setProblem] = useState('')
  const [adding, setAdding] = useState(false)
  const write = (fields: Partial<AgentForm>) => {
    setForm({ ...form, ...fields })
    setProblem('')
  }
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const made = agentOf(form)
    if ('problem' in made) return setProblem(made.problem)
    setAdding(true)
    try {
      await client.call('addAgent', { body: made.agent })
      setForm(emptyAgent)
      setOpen(false)
      void askForAgents()
    } catch (thrown) {
      setProblem(problemWords(thrown))
    } finally {
      setAdding(false)
    }
  }
  const button = useRef<HTMLDivElement>(null)
  useFocusBack(open, () => button.current?.querySelector('button'))
  if (!open) {
    return (
      <div ref={button}>
        <Button onClick={() => setOpen(true)}>Add an agent</Button>
      </div>
    )
  }
  return (
    <form
      aria-label="A new agent"
      onSubmit={(event) => void add(event)}
      className="flex flex-col gap-3 rounded-lg border border-edge bg-card p-3.5 text-sm"
    >
      <p className="text-pretty text-soft">
        A program that speaks the Agent Client Protocol. It runs on the machine of the server, as you: add
        only what you trust.
      </p>
      <div className="grid gap-3 sm:grid-cols-2">
        <Labelled label="Id: small letters, digits, dashes">
          <Text value={form.id} placeholder="my-agent" first onWrite={(id) => write({ id })} />
        </Labelled>
        <Labelled label="Name. Empty: the id">
          <Text value={form.name} placeholder="My agent" onWrite={(name) => write({ name })} />
        </Labelled>
        <Labelled label="Command: a whole path, or a name on the PATH">
          <Text value={form.command} placeholder="my-agent" onWrite={(command) => write({ command })} />
        </Labelled>
        <Labelled label="Arguments, separated by spaces">
          <Text value={form.args} placeholder="--acp" onWrite={(args) => write({ args })} />
        </Labelled>
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <p role="alert" className="min-w-0 flex-1 text-bad [overflow-wrap:anywhere]">
          {problem}
        </p>
        <Button look="quiet" onClick={() => setOpen(false)}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={adding}>
          Add
        </Button>
      </div>
    </form>
  )
}
