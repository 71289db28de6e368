import type { NewAgent } from '@parley/protocol'

export type AgentForm = { id: string; name: string; command: string; args: string }
export const emptyAgent: AgentForm = { id: '', name: '', command: '', args: '' }

/** The agent that the form describes, or the first problem with the form. The server checks the rest. */
export function agentOf(form: AgentForm): { body: NewAgent } | { problem: string } {
  const [id, name, command] = [form.id.trim(), form.name.trim(), form.command.trim()]
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(id)) {
    return { problem: 'Enter an id of lowercase letters, digits and dashes.' }
  }
  if (command === '') return { problem: 'Enter the command that starts the agent.' }
  const args = form.args.split(/\s+/).filter((word) => word !== '')
  return { body: { id, command, ...(name !== '' && { name }), ...(args.length > 0 && { args }) } }
}
