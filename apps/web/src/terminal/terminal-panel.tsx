import { hasCode, type Terminal } from '@parley/protocol'
import { Plus, Search, X } from 'lucide-react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useAgent } from '../base/agents.ts'
import { client, useConnection } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { claimFocus, hasFocusClaim, useFocusFallback } from '../base/focus.ts'
import { visible } from '../base/format.logic.ts'
import { withKeys } from '../base/key-names.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { noTabs, type Tab as TabInfo, tabNames, withListed, withOpened, withoutTab } from './tabs.logic.ts'
import { TerminalView } from './terminal-view.tsx'

const size = { cols: 80, rows: 24 }

/**
 * Terminals in the session’s folder. They run on the server: closing the panel keeps them running, closing a tab ends
 * its terminal.
 */
export default function TerminalPanel() {
  const { tabs, shown, problem, show, open, isOpening, close, ending, end, keep, reload } = useTerminals()
  const [finding, setFinding] = useState(false)
  const agent = useAgent(useSessionState((state) => state.agent))
  const continues = useCanContinue()
  const names = tabNames(tabs)
  const nameOf = ({ terminalId }: Terminal) => names.get(terminalId) ?? ''
  const current = tabs.find(({ terminalId }) => terminalId === shown)
  // While a terminal is being opened, clicks are ignored. The buttons keep the focus, so that the next key is not sent elsewhere.
  const busy = { 'aria-disabled': isOpening, className: 'aria-disabled:opacity-55' }
  if (problem && tabs.length === 0) return <p className="px-4 py-3 text-sm text-soft">{problem}</p>
  return (
    <div className="flex h-full flex-col">
      <div className="flex items-center gap-1 border-b border-line px-2 py-1">
        <div className="hide-scroll flex min-w-0 flex-1 items-center gap-1 overflow-x-auto">
          {tabs.map((terminal) => (
            <Tab
              key={terminal.terminalId}
              name={nameOf(terminal)}
              current={terminal.terminalId === shown}
              onShow={() => {
                claimFocus('terminal')
                show(terminal.terminalId)
              }}
              onClose={() => void close(terminal.terminalId)}
            />
          ))}
        </div>
        <IconButton label="New terminal" {...busy} onClick={() => void open('shell')}>
          <Plus size={15} />
        </IconButton>
        {continues && (
          <Button look="quiet" {...busy} onClick={() => void open('agent')}>
            Open in {agent?.name.replace(/ \(.*\)$/, '') ?? 'the agent’s'} CLI
          </Button>
        )}
        {current && (
          <IconButton
            label={withKeys('Find in the terminal (Ctrl+Shift+F)')}
            aria-pressed={finding}
            onClick={() => setFinding(!finding)}
          >
            <Search size={15} />
          </IconButton>
        )}
      </div>
      {ending && (
        <EndConfirmation terminal={ending} name={nameOf(ending)} onEnd={() => void end()} onKeep={keep} />
      )}
      {current === undefined ? (
        <div className="px-4 py-4 text-sm text-soft">
          <p className="pb-3">A shell in the session’s folder. It keeps running when you close the page.</p>
          <Button
            autoFocus={hasFocusClaim('terminal')}
            look="primary"
            {...busy}
            onClick={() => void open('shell')}
          >
            {isOpening ? 'Opening…' : 'Open a terminal'}
          </Button>
        </div>
      ) : (
        <TerminalView
          key={current.terminalId}
          terminalId={current.terminalId}
          isGone={current.isGone ?? false}
          finding={finding}
          onFind={setFinding}
          onGone={reload}
          onActivity={reload}
        />
      )}
    </div>
  )
}

type TabProps = { name: string; current: boolean; onShow: () => void; onClose: () => void }

function Tab({ name, current, onShow, onClose }: TabProps) {
  const place = useRef<HTMLSpanElement>(null)
  useFocusFallback(place)
  return (
    <span ref={place} className={`flex shrink-0 items-center rounded-md ${current ? 'bg-hover' : ''}`}>
      <button
        type="button"
        aria-pressed={current}
        onClick={onShow}
        className="max-w-40 min-h-7 truncate rounded-md pl-2 text-xs pointer-coarse:min-h-11"
      >
        {name}
      </button>
      <IconButton label={`Close ${name}`} className="pointer-fine:size-6!" onClick={onClose}>
        <X size={12} />
      </IconButton>
    </span>
  )
}

type EndConfirmationProps = { terminal: Terminal; name: string; onEnd: () => void; onKeep: () => void }

/** Asks for confirmation before a terminal with a running program is closed. */
function EndConfirmation({ terminal, name, onEnd, onKeep }: EndConfirmationProps) {
  const place = useRef<HTMLDivElement>(null)
  useFocusFallback(place)
  return (
    <div
      ref={place}
      role="alertdialog"
      aria-label={`End ${name}?`}
      onKeyDown={(event) => event.key === 'Escape' && onKeep()}
      className="flex flex-wrap items-center gap-2 border-b border-line bg-wait-wash px-3 py-1.5 text-sm"
    >
      <span className="min-w-0 flex-1 text-wait [overflow-wrap:anywhere]">
        <code className="font-mono">{visible(terminal.running ?? '')}</code> is still running. Closing the
        terminal ends it.
      </span>
      <Button autoFocus onClick={onKeep}>
        Cancel
      </Button>
      <Button look="danger" onClick={onEnd}>
        End
      </Button>
    </div>
  )
}

function useTerminals() {
  const id = useSessionId()
  const [{ tabs, shown }, setTabs] = useState(noTabs)
  const [problem, setProblem] = useState<string>()
  // A list is ignored if a later request was answered first, or if a terminal was opened or closed since the request.
  const requests = useRef({ sent: 0, answered: 0 })
  const load = useCallback(
    async (quietly = false) => {
      const number = ++requests.current.sent
      try {
        const reply = await client.call('listTerminals', { params: { id } })
        setProblem(undefined)
        if (number <= requests.current.answered) return
        requests.current.answered = number
        setTabs((before) => withListed(before, reply.terminals))
      } catch (thrown) {
        if (!quietly) setProblem(errorText(thrown))
      }
    },
    [id],
  )
  const change = (next: Parameters<typeof setTabs>[0]) => {
    requests.current.answered = requests.current.sent
    setTabs(next)
  }
  const online = useConnection().state === 'open'
  // biome-ignore lint/correctness/useExhaustiveDependencies: loaded again when the server is back
  useEffect(() => void load(), [load, online])
  const { open, isOpening } = useOpenTerminal((opened) => {
    change((before) => withOpened(before, opened))
    return load()
  })
  const [ending, setEnding] = useState<TabInfo>()
  const end = async (terminalId = ending?.terminalId) => {
    setEnding(undefined)
    if (terminalId === undefined) return
    try {
      await client.call('removeTerminal', { params: { id: terminalId } })
    } catch (thrown) {
      if (!hasCode(thrown, 'not_found')) return toastError(thrown)
    }
    change((before) => withoutTab(before, terminalId))
    await load()
  }
  /**
   * Closes a terminal, or asks first if a program runs in it. The list is read again first, because a program
   * may have started since.
   */
  const close = async (terminalId: string) => {
    if (tabs.some((tab) => tab.terminalId === terminalId && tab.isGone))
      return change((before) => withoutTab(before, terminalId))
    const reply = await client.call('listTerminals', { params: { id } }).catch(() => ({ terminals: tabs }))
    const now = reply.terminals.find((one) => one.terminalId === terminalId)
    if (now?.running === undefined) await end(terminalId)
    else setEnding(now)
  }
  const show = (terminalId: string) => setTabs((before) => ({ ...before, shown: terminalId }))
  const keep = () => setEnding(undefined)
  const reload = () => void load(true)
  return { tabs, shown, problem, show, open, isOpening, close, ending, end, keep, reload }
}

/** Opens one terminal at a time. */
function useOpenTerminal(onOpened: (opened: Terminal) => Promise<void>) {
  const id = useSessionId()
  const [isOpening, setOpening] = useState(false)
  const open = async (run: 'shell' | 'agent') => {
    if (isOpening) return
    claimFocus('terminal')
    setOpening(true)
    try {
      await onOpened(await client.call('openTerminal', { params: { id }, body: { ...size, run } }))
    } catch (thrown) {
      toastError(thrown)
    } finally {
      setOpening(false)
    }
  }
  return { open, isOpening }
}

/** Whether the agent's own program can continue this conversation. */
function useCanContinue(): boolean {
  const id = useSessionId()
  const connected = useSessionState((state) => state.connection?.agentSessionId)
  const [continues, setContinues] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new agent session may be continued
  useEffect(() => {
    client
      .call('getSession', { params: { id }, query: { tail: 0 } })
      .then(({ terminal }) => setContinues(terminal !== undefined))
      .catch(() => {})
  }, [id, connected])
  return continues
}
