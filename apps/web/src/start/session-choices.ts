import type { AgentInfo, ExpectedSession, PermissionMode, WorktreeOffer } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import {
  type FolderProblem,
  folderProblem,
  missingProblem,
  relativeProblem,
} from '../base/folder-problem.logic.ts'
import { useModels } from '../base/models.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { navigate } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import type { Store } from '../base/store.ts'
import { useStore } from '../base/store.ts'
import { useAttachments } from '../composer/attachments.tsx'
import { effortsOf } from '../composer/model-choice.logic.ts'
import { isWide } from '../composer/modes.ts'
import { toastError } from '../parts/toasts.tsx'
import { promptParts } from '../session-data/attachment.logic.ts'
import { changeNewSession, newSessionChoices } from '../session-data/new-session.ts'
import { newSessionKey } from '../session-data/prompt-draft.ts'
import { draftOf } from '../session-data/prompts.ts'
import { agentNotice, pickAgent } from './agent-notice.logic.ts'
import { attemptsOf, sharedModes } from './attempts.logic.ts'
import { type ChosenWorktree, makeSession } from './make-session.ts'

const typedFolder = () => newSessionChoices.get().folder ?? preferences.get().folder ?? ''

export type SessionChoices = ReturnType<typeof useSessionChoices>

export function useSessionChoices() {
  const found = useAgents()
  const chosen = useStore(newSessionChoices, (state) => state.agent)
  const last = useStore(preferences, (state) => state.agent)
  const wanted = chosen ?? last
  const agent = pickAgent(found.agents, wanted)
  const { attempts, modes } = useAttempts(found.agents, agent)
  const { setProblem, ...folder } = useFolder()
  const { settings, ...settingChoices } = useSettings(agent, modes)
  // Not stored: the person decides for each session whether to trust the folder.
  const [trust, chooseTrust] = useState(false)
  const [worktree, chooseWorktree] = useState<ChosenWorktree>()
  const [offer, setOffer] = useState<WorktreeOffer>()
  const [sending, setSending] = useState(false)
  const draft = draftOf(newSessionKey).text
  const attachments = useAttachments(newSessionKey, agent)
  const session = agent && { agent: agent.id, cwd: folder.cwd, ...settings }
  // The agent of a session with a worktree cannot be started before the worktree is made.
  useAnnouncement(draft, worktree || attempts ? undefined : session)

  const start = async () => {
    if (!session || sending) return
    const wrong = relativeProblem(session.cwd)
    setProblem(wrong && { ...wrong, refused: true })
    if (wrong) return
    setSending(true)
    const [text, attached] = [draft.get(), attachments.list]
    const prompt = promptParts(text, attached)
    try {
      const asked = { session, trust, worktree, prompt, attempts }
      const { route, cwd } = await (attempts
        ? (await import('./make-round.ts')).makeRound({ ...asked, attempts })
        : makeSession(asked))
      // Keeps text that was written after the prompt was sent.
      if (draft.get() === text) draft.set('')
      for (const one of attached) attachments.remove(one.id)
      newSessionChoices.set({})
      setPreferences({ agent: session.agent, folder: cwd })
      navigate(route)
    } catch (thrown) {
      const wrong = folderProblem(thrown)
      setProblem(wrong)
      if (!wrong) toastError(thrown)
      setSending(false)
    }
  }
  return {
    ...found,
    ...folder,
    ...settingChoices,
    agent,
    notice: agentNotice(found.agents, wanted, agent),
    attempts,
    modes,
    chooseAgent: (id: string) => changeNewSession({ agent: id }),
    trust,
    chooseTrust,
    worktree,
    chooseWorktree,
    offer,
    setOffer,
    draft,
    attachments,
    sending,
    start,
  }
}

/** The attempts of a round, if several agents were asked for, and the modes that can be chosen. */
function useAttempts(agents: readonly AgentInfo[], agent: AgentInfo | undefined) {
  const chosen = useStore(newSessionChoices, (state) => state.attempts)
  const attempts = chosen && agent && attemptsOf(chosen, agents, agent.id)
  return { attempts, modes: attempts ? sharedModes(attempts, agents) : (agent?.modes ?? noModes) }
}

const noModes: readonly PermissionMode[] = []

function useFolder() {
  const last = useStore(preferences, (state) => state.folder)
  const { folder = last ?? '' } = useStore(newSessionChoices)
  const [problem, setProblem] = useState<FolderProblem>()
  /** Checks that the folder exists. Called when the folder field loses the focus. */
  const checkFolder = async () => {
    const typed = typedFolder()
    const wrong = await problemOf(typed.trim())
    if (wrong && typedFolder() === typed) setProblem((before) => before ?? wrong)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of a project changes the folder too
  useEffect(() => setProblem(undefined), [folder])
  // biome-ignore lint/correctness/useExhaustiveDependencies: once: the last folder may have been deleted
  useEffect(() => void checkFolder(), [])
  return {
    folder,
    cwd: folder.trim() || '~',
    problem,
    setProblem,
    chooseFolder: (next: string) => changeNewSession({ folder: next }),
    checkFolder: () => void checkFolder(),
  }
}

/**
 * Mode, model and effort. A choice is ignored if the agent does not offer it or the person may not make it.
 */
function useSettings(agent: AgentInfo | undefined, modes: readonly PermissionMode[]) {
  const {
    mode: chosenMode = 'ask',
    model: chosenModel = '',
    effort: chosenEffort = '',
  } = useStore(newSessionChoices)
  const models = useModels(agent)
  const decides = useMay('decide')
  const wanted = decides || !isWide(chosenMode) ? chosenMode : 'ask'
  const mode = !agent || modes.includes(wanted) ? wanted : (modes[0] ?? 'ask')
  const model = models.some(({ id }) => id === chosenModel) ? chosenModel : ''
  const efforts = agent?.capabilities.effort ? effortsOf(models, model) : []
  const effort = efforts.includes(chosenEffort) ? chosenEffort : ''
  return {
    settings: { mode, ...(model !== '' && { model }), ...(effort !== '' && { options: { effort } }) },
    mode,
    chooseMode: (next: PermissionMode) => changeNewSession({ mode: next }),
    models,
    model,
    chooseModel: (next: string) => changeNewSession({ model: next }),
    efforts,
    effort,
    chooseEffort: (next: string) => changeNewSession({ effort: next }),
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

/** The time for which the choices must stay the same before they are sent. */
const settledMs = 400

/** Announces the session to the server while its prompt is being written, so that its agent starts early. */
function useAnnouncement(draft: Store<string>, session: ExpectedSession | undefined): void {
  const announced = session && JSON.stringify(session)
  useEffect(() => {
    if (announced === undefined) return
    const body = JSON.parse(announced) as ExpectedSession
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      if (timer !== undefined || draft.get().trim() === '') return
      // This is only a hint: problems with the choices are reported when the session is created.
      timer = setTimeout(() => void client.call('prepareSession', { body }).catch(() => undefined), settledMs)
    }
    look()
    const stop = draft.subscribe(look)
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [draft, announced])
}
