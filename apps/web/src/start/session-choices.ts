import type { PermissionMode } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import {
  type FolderProblem,
  folderProblem,
  missingProblem,
  relativeProblem,
} from '../base/folder-problem.logic.ts'
import { createKeptStore } from '../base/kept-store.ts'
import { useModels } from '../base/models.ts'
import { prefer, preferences } from '../base/preferences.ts'
import { go } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { promptParts } from '../composer/attachment.logic.ts'
import { useAttachments } from '../composer/attachments.tsx'
import { draftOf, newSessionKey } from '../composer/draft.ts'
import { effortsOf } from '../composer/model-choice.logic.ts'
import { toastError } from '../parts/toasts.tsx'
import { agentNotice, pickAgent } from './agent-notice.logic.ts'
import { useAnnouncement } from './announcement.ts'

/** The choices for the new session. By default, agent and folder are those of the last one. */
type Chosen = {
  readonly agent?: string
  readonly folder?: string
  readonly mode?: PermissionMode
  readonly model?: string
  readonly effort?: string
}
const choices = createKeptStore<Chosen>('new-session', {})
const typedFolder = () => choices.get().folder ?? preferences.get().folder ?? ''
const choose = (change: Chosen) => choices.set((before) => ({ ...before, ...change }))

export type SessionChoices = ReturnType<typeof useSessionChoices>

/** The choices for a new session, and the function that creates it. */
export function useSessionChoices() {
  const found = useAgents()
  const last = useStore(preferences)
  const {
    agent: chosen,
    folder = last.folder ?? '',
    mode = 'ask',
    model = '',
    effort = '',
  } = useStore(choices)
  // Not stored: trusting a folder is decided anew for each session.
  const [trust, chooseTrust] = useState(false)
  const [sending, setSending] = useState(false)
  const [problem, setProblem] = useState<FolderProblem>()
  const wanted = chosen ?? last.agent
  const agent = pickAgent(found.agents, wanted)
  const usedMode = !agent || agent.modes.includes(mode) ? mode : (agent.modes[0] ?? 'ask')
  const models = useModels(agent)
  const usedModel = models.some(({ id }) => id === model) ? model : ''
  const efforts = agent?.capabilities.effort ? effortsOf(models, usedModel) : []
  const usedEffort = efforts.includes(effort) ? effort : ''
  const draft = draftOf(newSessionKey)
  const attachments = useAttachments(newSessionKey, agent)
  const cwd = folder.trim() || '~'

  const settings = {
    mode: usedMode,
    ...(usedModel !== '' && { model: usedModel }),
    ...(usedEffort !== '' && { options: { effort: usedEffort } }),
  }
  useAnnouncement(draft, agent && { agent: agent.id, cwd, ...settings })

  /** Checks that the folder exists, called when its field loses the focus. */
  const checkFolder = async () => {
    const typed = typedFolder()
    const wrong = await problemOf(typed.trim())
    if (wrong && typedFolder() === typed) setProblem((before) => before ?? wrong)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: once: the folder of the last session may be gone
  useEffect(() => void checkFolder(), [])
  const start = async () => {
    if (!agent || sending) return
    const wrong = relativeProblem(cwd)
    setProblem(wrong && { ...wrong, refused: true })
    if (wrong) return
    setSending(true)
    const [text, along] = [draft.get(), attachments.list]
    const prompt = promptParts(text, along)
    try {
      const session = await client.createSession({
        agent: agent.id,
        cwd,
        ...settings,
        ...(trust && { trust }),
        ...(prompt.length > 0 && { prompt }),
      })
      // Text that was written meanwhile was not sent.
      if (draft.get() === text) draft.set('')
      for (const { id } of along) attachments.remove(id)
      choices.set({})
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
    chooseAgent: (id: string) => choose({ agent: id }),
    folder,
    cwd,
    problem,
    chooseFolder(next: string) {
      choose({ folder: next })
      setProblem(undefined)
    },
    checkFolder: () => void checkFolder(),
    mode: usedMode,
    chooseMode: (next: PermissionMode) => choose({ mode: next }),
    models,
    model: usedModel,
    chooseModel: (next: string) => choose({ model: next }),
    efforts,
    effort: usedEffort,
    chooseEffort: (next: string) => choose({ effort: next }),
    trust,
    chooseTrust,
    draft,
    attachments,
    sending,
    start,
  }
}

async function problemOf(folder: string): Promise<FolderProblem | undefined> {
  if (folder === '') return undefined
  const wrong = relativeProblem(folder)
  if (wrong) return wrong
  return client.call('findFolders', { query: { q: `${folder.replace(/\/+$/, '')}/`, limit: 1 } }).then(
    () => undefined,
    (thrown: unknown) => missingProblem(thrown),
  )
}
