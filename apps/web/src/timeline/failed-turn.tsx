import type { AgentInfo, ErrorInfo } from '@parley/protocol'
import { useAgent } from '../base/agents.ts'
import { Button } from '../parts/button.tsx'
import { CopyText } from '../parts/copy-button.tsx'
import { prompts } from '../session-data/prompts.ts'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { Callout } from './callout.tsx'
import { promptOfTurn } from './turn-end.logic.ts'

type Props = { turnId: string | undefined; error: ErrorInfo | undefined }

/** Why a turn failed and, for the latest one, what to do next: sign in, or send the same prompt again. */
export function FailedTurn({ turnId, error }: Props) {
  const isLatest = useSessionState(({ turn, lastTurn }) => !turn && lastTurn?.turnId === turnId)
  return (
    <Callout level="error" text={error?.message ?? 'The turn failed.'}>
      {isLatest && turnId !== undefined && <NextSteps turnId={turnId} error={error} />}
    </Callout>
  )
}

function NextSteps({ turnId, error }: Props) {
  const sessionId = useSessionId()
  const agent = useAgent(useSessionState((state) => state.agent))
  const parts = useSnapshot(({ view }) => promptOfTurn(view.timeline, turnId)?.parts)
  const command = error?.code === 'agent_not_signed_in' ? signInCommand(error, agent) : undefined
  if (!parts && command === undefined) return null
  return (
    <div className="flex flex-wrap items-center gap-2 pt-2">
      {parts && (
        <Button onClick={() => prompts.submit({ sessionId, delivery: 'queue', parts })}>Retry</Button>
      )}
      {command !== undefined && <CopyText text={command} label="Copy command" />}
    </div>
  )
}

function signInCommand({ details }: ErrorInfo, agent: AgentInfo | undefined): string | undefined {
  return typeof details?.command === 'string' ? details.command : agent?.command
}
