import { Check, Columns3, ListChecks } from 'lucide-react'
import { agentNameOf } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { navigate } from '../base/route.ts'
import { may } from '../base/self.ts'
import { toastError } from '../parts/toasts.tsx'
import { openRound } from '../session-data/open-round.ts'
import type { PaletteCommand } from './session-commands.tsx'

/** The commands for the round that is shown; none on other pages. */
export function roundCommands(): readonly PaletteCommand[] {
  const { round, onPick } = openRound() ?? {}
  if (!round) return []
  return round.attempts.flatMap(({ attempt, sessionId, agent, pick }): PaletteCommand[] => {
    const name = `attempt ${attempt}, ${agentNameOf(agent)}`
    return [
      {
        label: `Open the session of ${name}`,
        icon: Columns3,
        onSelect: () => navigate({ name: 'session', id: sessionId }),
      },
      ...(may('decide') && pick !== 'picked'
        ? // Deferred until the palette has returned the focus.
          [{ label: `Pick ${name}`, icon: Check, onSelect: () => void setTimeout(() => onPick?.(attempt)) }]
        : []),
      ...(may('decide') && round.checkable
        ? [
            {
              label: `Run the check of ${name}`,
              icon: ListChecks,
              onSelect: () => void client.command(sessionId, { type: 'check.run' }).catch(toastError),
            },
          ]
        : []),
    ]
  })
}
