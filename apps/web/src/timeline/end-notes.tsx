import type { AgentInfo, ErrorInfo, TurnEnd } from '@parley/protocol'
import { RotateCcw } from 'lucide-react'
import { useAgent } from '../base/agents.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { asJson } from '../call/call-text.logic.ts'
import { LazyTerminalText } from '../call/lazy-call-detail.tsx'
import { InstallRow } from '../parts/agents/install-button.tsx'
import { readinessOf } from '../parts/agents/readiness.logic.ts'
import { Button } from '../parts/button.tsx'
import { CopyText } from '../parts/copy-button.tsx'
import { prompts } from '../session-data/prompts.ts'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { Callout } from './callout.tsx'
import { isRewind, promptOfTurn, stopText } from './turn-end.logic.ts'

type Props = { turnId: string | undefined; end: TurnEnd }

/** The notes on a turn that did not end as usual: the reason, and the actions that the person can take. */
export default function EndNotes({ turnId, end }: Props) {
  const { outcome, stopReason, error, structuredOutput } = end
  return (
    <>
      {outcome === 'failed' && <FailedTurn turnId={turnId} error={error} />}
      {isRewind(stopReason) && <RewoundTurn end={end} />}
      {outcome === 'completed' && stopText(stopReason) !== undefined && (
        <Callout level="warning" text={stopText(stopReason) ?? ''} />
      )}
      {error && <ProcessEnd details={error.details} />}
      {outcome === 'unknown' && (
        <Callout
          level="warning"
          text="The server that ran this turn stopped before the turn ended. Some actions may be missing; check Changes."
        />
      )}
      {structuredOutput !== undefined && (
        <pre className="terminal my-1 rounded-md bg-sunk px-2.5 py-2">{asJson(structuredOutput)}</pre>
      )}
    </>
  )
}

/** The exit code or signal of an agent's process, and the end of its stderr. */
function ProcessEnd({ details = {} }: { details?: Readonly<Record<string, unknown>> | undefined }) {
  const { exitCode, signal, stderrTail } = details
  const how =
    typeof signal === 'string'
      ? `ended by ${signal}`
      : typeof exitCode === 'number'
        ? `exit code ${exitCode}`
        : undefined
  if (how === undefined && typeof stderrTail !== 'string') return null
  return (
    <div className="px-2.5 pb-1 text-xs text-soft">
      {how && <p className="pb-1">Process: {how}</p>}
      {typeof stderrTail === 'string' && <LazyTerminalText output={stderrTail} label="Last output" />}
    </div>
  )
}

type FailedTurnProps = { turnId: string | undefined; error: ErrorInfo | undefined }

/** The error of a turn and, for the latest turn, the next action: install, sign in, or send the same prompt again. */
function FailedTurn({ turnId, error }: FailedTurnProps) {
  const isLatest = useSessionState(({ turn, lastTurn }) => !turn && lastTurn?.turnId === turnId)
  return (
    <Callout level="error" text={error?.message ?? 'The turn failed.'}>
      {isLatest && turnId !== undefined && <NextSteps turnId={turnId} error={error} />}
    </Callout>
  )
}

function NextSteps({ turnId, error }: FailedTurnProps) {
  const sessionId = useSessionId()
  const agent = useAgent(useSessionState((state) => state.agent))
  const parts = useSnapshot(({ view }) => promptOfTurn(view.timeline, turnId)?.parts)
  const mayRetry = useMay('prompt') && parts !== undefined
  const command = error?.code === 'agent_not_signed_in' ? signInCommand(error, agent) : undefined
  return (
    <>
      {error?.code === 'agent_not_found' && agent && readinessOf(agent) === 'missing' && (
        <InstallRow agent={agent} />
      )}
      <div className="flex flex-wrap items-center gap-2 pt-2 empty:hidden">
        {mayRetry && (
          <Button onClick={() => prompts.submit({ sessionId, delivery: 'queue', parts })}>Retry</Button>
        )}
        {command !== undefined && <CopyText text={command} label="Copy command" />}
      </div>
    </>
  )
}

function signInCommand({ details }: ErrorInfo, agent: AgentInfo | undefined): string | undefined {
  return typeof details?.command === 'string' ? details.command : agent?.command
}

/** Files that an agent restored by its own means. Only logs of earlier versions contain this. */
function RewoundTurn({ end }: { end: TurnEnd }) {
  return (
    <div className="my-1 flex flex-wrap items-center gap-2 px-1.5 text-sm text-soft">
      <RotateCcw size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 [overflow-wrap:anywhere]">{visible(end.result ?? '')}</span>
    </div>
  )
}
