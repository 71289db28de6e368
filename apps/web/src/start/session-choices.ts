import type { PermissionMode } from '@parley/protocol'
import { useState } from 'react'
import { promptParts } from '../composer/attachment.logic.ts'
import { useAttachments } from '../composer/attachments.tsx'
import { draftOf, newSessionKey } from '../composer/draft.ts'
import { useAgents } from '../page/agents.ts'
import { client } from '../page/client.ts'
import { prefer, preferences } from '../page/preferences.ts'
import { go } from '../page/route.ts'
import { useStore } from '../page/store.ts'
import { toastError } from '../page/toasts.tsx'
import { agentNotice, pickAgent } from './agent-notice.logic.ts'
import { type FolderProblem, folderProblem } from './folder-problem.logic.ts'

export type SessionChoices = ReturnType<typeof useSessionChoices>

/** What a session will be made of, as it is chosen, and the making of it. */
export function useSessionChoices() {
  const found = useAgents()
  const kept = useStore(preferences)
  const [chosen, chooseAgent] = useState<string>()
  const [folder, setFolder] = useState(kept.folder ?? '')
  const [mode, chooseMode] = useState<PermissionMode>('ask')
  const [model, chooseModel] = useState('')
  const [trust, chooseTrust] = useState(false)
  const [sending, setSending] = useState(false)
  const [problem, setProblem] = useState<FolderProblem>()
  const wanted = chosen ?? kept.agent
  const agent = pickAgent(found.agents, wanted)
  const usedMode = !agent || agent.modes.includes(mode) ? mode : (agent.modes[0] ?? 'ask')
  const models = agent?.capabilities.models ? (agent.models ?? []) : []
  const usedModel = models.some(({ id }) => id === model) ? model : ''
  const draft = draftOf(newSessionKey)
  const attachments = useAttachments(newSessionKey, agent)
  const cwd = folder.trim() || '~'

  const start = async () => {
    if (!agent || sending) return
    setSending(true)
    setProblem(undefined)
    const [text, along] = [draft.get(), attachments.list]
    const prompt = promptParts(text, along)
    try {
      const session = await client.createSession({
        agent: agent.id,
        cwd,
        mode: usedMode,
        ...(usedModel !== '' && { model: usedModel }),
        ...(trust && { trust }),
        ...(prompt.length > 0 && { prompt }),
      })
      // What was written meanwhile was not sent.
      if (draft.get() === text) draft.set('')
      for (const { id } of along) attachments.remove(id)
      prefer({ agent: agent.id, folder: session.cwd })
      go({ name: 'session', id: session.id })
    } catch (thrown) {
      const wrong = folderProblem(thrown)
      setProblem(wrong)
      if (!wrong) toastError(thrown)
      setSending(false)
    }
  }
  return {
    ...found,
    agent,
    notice: agentNotice(found.agents, wanted, agent),
    chooseAgent,
    folder,
    cwd,
    problem,
    chooseFolder(next: string) {
      setFolder(next)
      setProblem(undefined)
    },
    mode: usedMode,
    chooseMode,
    models,
    model: usedModel,
    chooseModel,
    trust,
    chooseTrust,
    draft,
    attachments,
    sending,
    start,
  }
}
