import { TriangleAlert } from 'lucide-react'
import { loadAgents } from '../base/agents.ts'
import { AgentNextStep } from '../parts/agents/agent-state.tsx'
import type { AgentNotice } from './agent-notice.logic.ts'

/** Shown above the prompt field, so that nobody writes a prompt for an agent that cannot run it. */
export function AgentNoticeView({ id, notice }: { id: string; notice: AgentNotice }) {
  const { agent, text } = notice
  return (
    <div className="mb-3 rounded-lg border border-wait-line bg-wait-wash" data-testid="agent-notice">
      <div className="flex items-center gap-2.5 px-3 py-1.5 text-sm">
        <TriangleAlert size={15} aria-hidden className="shrink-0 text-wait" />
        <p id={id} className="min-w-0 flex-1 font-medium">
          {text}
        </p>
        <button
          type="button"
          onClick={() => void loadAgents()}
          className="min-h-7 shrink-0 rounded px-1 text-xs text-soft underline hover:text-ink pointer-coarse:min-h-11"
        >
          Refresh
        </button>
      </div>
      <AgentNextStep agent={agent} />
    </div>
  )
}
