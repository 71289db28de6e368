import type { AgentInfo } from '@parley/protocol'
import { Bot, ChevronDown, RefreshCw } from 'lucide-react'
import { loadAgents } from '../base/agents.ts'
import { errorText } from '../base/error-text.logic.ts'
import { choiceMenu } from '../composer/settings-chip.tsx'
import { AgentState } from '../parts/agents/agent-state.tsx'
import { readinessOf } from '../parts/agents/readiness.logic.ts'
import type { MenuOption } from '../parts/choice-menu.tsx'
import { Menu } from '../parts/menu.tsx'
import type { SessionChoices } from './session-choices.ts'

/**
 * A button that shows the agent of the new session, with a menu of all agents. If the chosen agent cannot
 * run, a notice says what to do.
 */
export function AgentChip({ choices }: { choices: SessionChoices }) {
  const { agents, agent, status, error, chooseAgent } = choices
  if (agents.length === 0)
    return (
      <span className={`px-1.5 text-xs ${error ? 'text-bad' : 'text-faint'}`}>
        {error ? errorText(error) : status === 'known' ? 'No agents' : 'Looking for agents…'}
      </span>
    )
  const here = agents.filter(({ found, installing }) => found || installing)
  const others = agents.filter((one) => !here.includes(one))
  const group = (label: string, members: readonly AgentInfo[]) => ({
    label,
    value: agent?.id,
    options: members.map(optionOf),
    onChoose: chooseAgent,
  })
  return (
    <Menu
      label="Agent"
      look="text"
      part={choiceMenu}
      list={(ChoiceMenu, menu) => (
        <ChoiceMenu
          {...menu}
          groups={[
            ...(here.length > 0 ? [group('On this machine', here)] : []),
            ...(others.length > 0 ? [group('Not installed', others)] : []),
          ]}
        >
          <Refresh onChoose={menu.onClose} />
        </ChoiceMenu>
      )}
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

function optionOf(agent: AgentInfo): MenuOption {
  const { id, name, version, description, hint } = agent
  const note = readinessOf(agent) === 'unsure' ? (hint ?? description) : description
  return {
    value: id,
    label: name,
    ...(note !== undefined && { note }),
    detail: (
      <>
        {version !== undefined && <span className="text-xs text-faint tabular-nums">{version}</span>}
        {/* The heading of the group names this state for all its entries. */}
        <span className={readinessOf(agent) === 'missing' ? 'sr-only' : 'ml-auto'}>
          <AgentState agent={agent} />
        </span>
      </>
    ),
  }
}

function Refresh({ onChoose }: { onChoose: () => void }) {
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      onClick={() => {
        onChoose()
        void loadAgents()
      }}
      className="flex min-h-8 w-full items-center gap-2 rounded-md border-t border-line px-2 text-left text-sm focus:bg-hover focus:outline-none pointer-coarse:min-h-11"
    >
      <RefreshCw size={14} aria-hidden className="text-soft" /> Refresh
    </button>
  )
}
