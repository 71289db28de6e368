import type { AgentInfo } from '@parley/protocol'
import { Columns3, type LucideIcon, RefreshCw } from 'lucide-react'
import { loadAgents } from '../base/agents.ts'
import { AgentState } from '../parts/agents/agent-state.tsx'
import { readinessOf } from '../parts/agents/readiness.logic.ts'
import ChoiceMenu, { type MenuOption } from '../parts/choice-menu.tsx'
import type { OpenMenu } from '../parts/menu.tsx'
import { trySeveral } from '../session-data/attempt-choices.ts'
import type { SessionChoices } from './session-choices.ts'

/** All agents. If the folder is in a repository, several of them can get the same prompt, each in a worktree. */
export default function AgentMenu({ choices, ...menu }: OpenMenu & { choices: SessionChoices }) {
  const { agents, agent, chooseAgent, offer } = choices
  const here = agents.filter(({ found, installing }) => found || installing)
  const others = agents.filter((one) => !here.includes(one))
  const group = (label: string, members: readonly AgentInfo[]) => ({
    label,
    value: agent?.id,
    options: members.map(optionOf),
    onChoose: chooseAgent,
  })
  const { onClose } = menu
  return (
    <ChoiceMenu
      {...menu}
      groups={[
        ...(here.length > 0 ? [group('On this machine', here)] : []),
        ...(others.length > 0 ? [group('Not installed', others)] : []),
      ]}
    >
      <div role="none" className="border-t border-line">
        {offer && !offer.refused && (
          <Entry label="Try several agents…" icon={Columns3} onChoose={trySeveral} onClose={onClose} />
        )}
        <Entry label="Refresh" icon={RefreshCw} onChoose={() => void loadAgents()} onClose={onClose} />
      </div>
    </ChoiceMenu>
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

type EntryProps = { label: string; icon: LucideIcon; onChoose: () => void; onClose: () => void }

function Entry({ label, icon: Icon, onChoose, onClose }: EntryProps) {
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      onClick={() => {
        onClose()
        onChoose()
      }}
      className="flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-left text-sm focus:bg-hover focus:outline-none pointer-coarse:min-h-11"
    >
      <Icon size={14} aria-hidden className="text-soft" /> {label}
    </button>
  )
}
