import type { AgentInfo, HandOffPreview } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { navigate } from '../base/route.ts'
import type { HandOffPoint } from '../session-data/session-actions.ts'
import { useSessionId } from '../session-data/session-context.tsx'

type Found = { readonly preview?: HandOffPreview; readonly problem?: string }

export type HandOffDraft = ReturnType<typeof useHandOff>

/** The text for the agent, with the person's edits, and the function that creates the session. */
export function useHandOff(point: HandOffPoint, agent: AgentInfo | undefined, model: string) {
  const sessionId = useSessionId()
  const [{ preview, problem }, setFound] = useState<Found>({})
  const [edited, setEdited] = useState<string>()
  const [sending, setSending] = useState(false)
  const { before, upTo } = point
  const agentId = agent?.id
  const settings = { ...(model !== '' && { model }) }
  const place = before !== undefined ? { before } : upTo !== undefined ? { upTo } : {}
  const asked = JSON.stringify({ ...settings, ...place })
  useEffect(() => {
    if (agentId === undefined) return
    setFound(({ preview }) => ({ ...(preview && { preview }) }))
    return abortable((signal) => {
      const query = { agent: agentId, ...(JSON.parse(asked) as typeof place) }
      return client.call('previewHandOff', { params: { id: sessionId }, query, signal }).then(
        (found) => setFound({ preview: found }),
        (thrown) => signal.aborted || setFound({ problem: errorText(thrown) }),
      )
    })
  }, [sessionId, agentId, asked])

  const start = async (prompt: string) => {
    if (agentId === undefined || !preview || sending) return
    setSending(true)
    const from = { sessionId, ...(before === undefined ? { upTo: preview.seq } : { before }) }
    const words = prompt.trim()
    try {
      const { id } = await client.createSession({
        agent: agentId,
        ...settings,
        from,
        context: edited ?? preview.text,
        ...(words !== '' && { prompt: words }),
      })
      navigate({ name: 'session', id })
    } catch (thrown) {
      setFound({ preview, problem: errorText(thrown) })
      setSending(false)
    }
  }
  return {
    preview,
    problem,
    text: edited ?? preview?.text ?? '',
    isEdited: edited !== undefined && edited !== preview?.text,
    edit: setEdited,
    reset: () => setEdited(undefined),
    sending,
    start,
  }
}
