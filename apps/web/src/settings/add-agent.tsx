import { loadAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { AddForm } from './add-form.tsx'
import { type AgentForm, agentOf, emptyAgent } from './agent-form.logic.ts'
import { Labelled, Text } from './form-parts.tsx'

async function add(form: AgentForm): Promise<string | undefined> {
  const made = agentOf(form)
  if ('problem' in made) return made.problem
  await client.call('addAgent', { body: made.agent })
  void loadAgents()
}

/** Adds a program that speaks the Agent Client Protocol. */
export function AddAgent() {
  return (
    <AddForm button="Add an agent" label="New agent" empty={emptyAgent} onAdd={add}>
      {(form, write) => (
        <>
          <p className="text-pretty text-soft">
            A program that speaks the Agent Client Protocol (ACP). It runs on the server’s machine with your
            rights: add only programs that you trust.
          </p>
          <div className="grid gap-3 sm:grid-cols-2">
            <Labelled label="Id (lowercase letters, digits, dashes)">
              <Text value={form.id} placeholder="my-agent" first onWrite={(id) => write({ id })} />
            </Labelled>
            <Labelled label="Name (default: the id)">
              <Text value={form.name} placeholder="My agent" onWrite={(name) => write({ name })} />
            </Labelled>
            <Labelled label="Command (full path, or a name on the PATH)">
              <Text value={form.command} placeholder="my-agent" onWrite={(command) => write({ command })} />
            </Labelled>
            <Labelled label="Arguments (separated by spaces)">
              <Text value={form.args} placeholder="--acp" onWrite={(args) => write({ args })} />
            </Labelled>
          </div>
        </>
      )}
    </AddForm>
  )
}
