import { Bot, ChevronDown } from 'lucide-react'
import { errorText } from '../base/error-text.logic.ts'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import type { SessionChoices } from './session-choices.ts'

const agentMenu = lazyPart(() => import('./agent-menu.tsx'))

/**
 * A button that shows the agent of the new session, with a menu of all agents. If the chosen agent cannot
 * run, a notice says what to do.
 */
export function AgentChip({ choices }: { choices: SessionChoices }) {
  const { agents, agent, status, error } = choices
  if (agents.length === 0)
    return (
      <span className={`px-1.5 text-xs ${error ? 'text-bad' : 'text-faint'}`}>
        {error ? errorText(error) : status === 'known' ? 'No agents' : 'Looking for agents…'}
      </span>
    )
  return (
    <Menu
      label="Agent"
      look="text"
      part={agentMenu}
      list={(AgentMenu, menu) => <AgentMenu {...menu} choices={choices} />}
    >
      <Bot size={14} aria-hidden className="shrink-0" />
      <span className="truncate font-medium">
        {agent && <span className="sr-only">Agent: </span>}
        {agent?.name ?? 'Choose an agent'}
      </span>
      <ChevronDown size={13} aria-hidden className="shrink-0" />
    </Menu>
  )
}
