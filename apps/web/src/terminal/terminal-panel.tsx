import type { Terminal } from '@parley/protocol'
import { Plus, X } from 'lucide-react'
import { useCallback, useEffect, useState } from 'react'
import { useAgent } from '../page/agents.ts'
import { client, useConnection } from '../page/client.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { toastError } from '../page/toasts.tsx'
import { visible } from '../page/words.logic.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { useSessionId, useStatePart } from '../session/session-context.tsx'
import { TerminalView } from './terminal-view.tsx'

const size = { cols: 80, rows: 24 }

/** Shells in the session's folder. They live in the server: closing the panel leaves them, closing a tab ends one. */
export default function TerminalPanel() {
  const { terminals, shown, problem, show, open, close, reload } = useTerminals()
  const agent = useAgent(useStatePart((state) => state.agent))
  const continues = useContinues()
  if (problem) return <p className="px-4 py-3 text-sm text-soft">{problem}</p>
  return (
    <div className="flex h-full flex-col">
      <div className="hide-scroll flex items-center gap-1 overflow-x-auto border-b border-line px-2 py-1">
        {terminals.map((terminal) => (
          <Tab
            key={terminal.terminalId}
            terminal={terminal}
            current={terminal.terminalId === shown}
            onShow={() => show(terminal.terminalId)}
            onClose={() => void close(terminal.terminalId)}
          />
        ))}
        <IconButton label="New terminal" onClick={() => void open('shell')}>
          <Plus size={15} />
        </IconButton>
        {continues && (
          <Button look="quiet" className="ml-auto" onClick={() => void open('agent')}>
            Continue in {agent?.name ?? 'the agent'} itself
          </Button>
        )}
      </div>
      {shown === undefined ? (
        <div className="px-4 py-4 text-sm text-soft">
          <p className="pb-3">A real shell in the session’s folder. It stays when the page is closed.</p>
          <Button look="primary" onClick={() => void open('shell')}>
            Open a terminal
          </Button>
        </div>
      ) : (
        <TerminalView key={shown} terminalId={shown} onGone={reload} />
      )}
    </div>
  )
}

function Tab({
  terminal,
  current,
  onShow,
  onClose,
}: {
  terminal: Terminal
  current: boolean
  onShow: () => void
  onClose: () => void
}) {
  const name = visible(terminal.title) || 'Terminal'
  return (
    <span className={`flex shrink-0 items-center rounded-md ${current ? 'bg-hover' : ''}`}>
      <button
        type="button"
        aria-pressed={current}
        onClick={onShow}
        className="max-w-40 min-h-7 truncate rounded-md pl-2 text-xs pointer-coarse:min-h-11"
      >
        {name}
        {terminal.exitCode !== undefined && ' (ended)'}
      </button>
      <IconButton label={`Close ${name}`} className="size-6!" onClick={onClose}>
        <X size={12} />
      </IconButton>
    </span>
  )
}

function useTerminals() {
  const id = useSessionId()
  const [terminals, setTerminals] = useState<readonly Terminal[]>([])
  const [shown, show] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const load = useCallback(async () => {
    try {
      const reply = await client.call('listTerminals', { params: { id } })
      setProblem(undefined)
      setTerminals(reply.terminals)
      show((before) =>
        reply.terminals.some(({ terminalId }) => terminalId === before)
          ? before
          : reply.terminals.at(-1)?.terminalId,
      )
    } catch (thrown) {
      setProblem(problemWords(thrown))
    }
  }, [id])
  const online = useConnection().state === 'open'
  // biome-ignore lint/correctness/useExhaustiveDependencies: a server that is back is asked again
  useEffect(() => void load(), [load, online])
  const open = async (run: 'shell' | 'agent') => {
    try {
      const terminal = await client.call('openTerminal', { params: { id }, body: { ...size, run } })
      await load()
      show(terminal.terminalId)
    } catch (thrown) {
      toastError(thrown)
    }
  }
  const close = async (terminalId: string) => {
    await client.call('removeTerminal', { params: { id: terminalId } }).catch(toastError)
    await load()
  }
  return { terminals, shown, problem, show, open, close, reload: () => void load() }
}

/** Whether the agent's own program can go on with this conversation. */
function useContinues(): boolean {
  const id = useSessionId()
  const connected = useStatePart((state) => state.connection?.agentSessionId)
  const [continues, setContinues] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a conversation that began can be continued
  useEffect(() => {
    client
      .call('getSession', { params: { id }, query: { tail: 0 } })
      .then(({ terminal }) => setContinues(terminal !== undefined))
      .catch(() => {})
  }, [id, connected])
  return continues
}
