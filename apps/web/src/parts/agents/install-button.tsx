import type { AgentInfo } from '@parley/protocol'
import { Download, LoaderCircle } from 'lucide-react'
import { useEffect } from 'react'
import { loadAgents } from '../../base/agents.ts'
import { client } from '../../base/client.ts'
import { visible } from '../../base/format.logic.ts'
import { useMay } from '../../base/self.ts'
import { Button } from '../button.tsx'
import { toastError } from '../toasts.tsx'

/** Installs an agent that Parley can install, and shows the progress of the installation. */
export function InstallRow({ agent }: { agent: AgentInfo }) {
  const { install, installing, installError } = agent
  useEffect(() => {
    if (!installing) return
    const timer = setTimeout(() => void loadAgents(), 1500)
    return () => clearTimeout(timer)
  }, [installing])
  const installs = useMay('admin')
  if (!install) return null
  const run = (work: Promise<unknown>) => void work.then(loadAgents, toastError)
  const start = () => run(client.call('installAgent', { params: { id: agent.id } }))
  const stop = () => run(client.call('removeAgent', { params: { id: agent.id } }))
  const outdated = install.installed !== undefined && install.installed !== install.version
  if (agent.found && !installing && !outdated && !installError && install.installed === undefined) return null
  return (
    <div className="flex items-center gap-3 border-t border-line px-3 py-1.5 text-xs text-soft">
      <span className="min-w-0 flex-1 truncate font-mono">
        {installing
          ? visible(installing.line) || 'Installing…'
          : installError
            ? visible(installError.message)
            : `${install.package} ${install.installed ?? install.version}`}
      </span>
      {!installs ? (
        <span>An administrator can install it.</span>
      ) : installing ? (
        <>
          <LoaderCircle size={14} className="animate-spin text-mark" aria-label="installing" />
          <Button look="quiet" onClick={stop}>
            Stop
          </Button>
        </>
      ) : install.installed !== undefined && !outdated ? (
        <Button look="quiet" onClick={stop}>
          Remove
        </Button>
      ) : (
        <Button onClick={start}>
          <Download size={14} aria-hidden /> {outdated ? `Update to ${install.version}` : 'Install'}
        </Button>
      )}
    </div>
  )
}
