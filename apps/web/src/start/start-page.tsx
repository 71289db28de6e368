import type { PermissionMode } from '@parley/protocol'
import { ArrowUp } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Choice, modeNames, modeNotes } from '../composer/settings-row.tsx'
import { useAgents } from '../page/agents.ts'
import { client } from '../page/client.ts'
import { prefer, preferences } from '../page/preferences.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { go, useRoute } from '../page/route.ts'
import { useStore } from '../page/store.ts'
import { toastError } from '../page/toasts.tsx'
import { BackToSessions } from '../parts/back-to-sessions.tsx'
import { Link } from '../parts/link.tsx'
import { AgentChoice } from './agent-choice.tsx'
import { agentNotice, pickAgent } from './agent-notice.logic.ts'
import { AgentNoticeView } from './agent-notice.tsx'
import { FolderField } from './folder-field.tsx'
import { type FolderProblem, folderProblem } from './folder-problem.logic.ts'

/** A new session: what to do, who does it, where, and what needs asking. */
export function StartPage() {
  const { agents, status, error } = useAgents()
  const kept = useStore(preferences)
  const [chosen, setChosen] = useState<string>()
  const [folder, setFolder] = useState(kept.folder ?? '')
  const [mode, setMode] = useState<PermissionMode>('ask')
  const [model, setModel] = useState('')
  const [text, setText] = useState('')
  const [trust, setTrust] = useState(false)
  const [sending, setSending] = useState(false)
  const [problem, setProblem] = useState<FolderProblem>()
  const wanted = chosen ?? kept.agent
  const agent = pickAgent(agents, wanted)
  const notice = agentNotice(agents, wanted, agent)
  const usedMode = !agent || agent.modes.includes(mode) ? mode : (agent.modes[0] ?? 'ask')
  const field = useRef<HTMLTextAreaElement>(null)
  const route = useRoute()
  // biome-ignore lint/correctness/useExhaustiveDependencies: asking for a new session again is asking to write
  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus()
  }, [route])

  const start = async (event?: FormEvent) => {
    event?.preventDefault()
    if (!agent || sending) return
    setSending(true)
    setProblem(undefined)
    try {
      const session = await client.createSession({
        agent: agent.id,
        cwd: folder.trim() || '~',
        mode: usedMode,
        ...(model !== '' && agent.capabilities.models && { model }),
        ...(trust && { trust }),
        ...(text.trim() !== '' && { prompt: text.trim() }),
      })
      prefer({ agent: agent.id, folder: session.cwd })
      go({ name: 'session', id: session.id })
    } catch (thrown) {
      const wrong = folderProblem(thrown)
      setProblem(wrong)
      if (!wrong) toastError(thrown)
      setSending(false)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    if (matchMedia('(pointer: coarse)').matches) return
    event.preventDefault()
    void start()
  }
  const chooseFolder = (next: string) => {
    setFolder(next)
    setProblem(undefined)
  }
  const models = agent?.capabilities.models ? (agent.models ?? []) : []
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto w-full max-w-2xl px-5 pb-8 max-md:px-3 max-md:py-2">
        {/* The notice has its room above the heading: nothing moves when it comes or goes. */}
        <div className="flex flex-col justify-end md:min-h-[max(10.5rem,20dvh)] md:pt-4">
          <div className="flex items-center pb-4 max-md:pb-2">
            <BackToSessions />
            <h1 className="text-2xl font-semibold tracking-tight max-md:text-xl">What should be done?</h1>
          </div>
          {notice && (
            <div className="md:order-first">
              <AgentNoticeView id="agent-notice" notice={notice} />
            </div>
          )}
        </div>
        <form onSubmit={(event) => void start(event)}>
          <div className="rounded-xl border border-edge bg-card shadow-sm focus-within:border-mark">
            <textarea
              ref={field}
              rows={3}
              value={text}
              aria-label="Prompt"
              aria-describedby={notice && 'agent-notice'}
              placeholder={agent ? `Tell ${agent.name} what to do in the folder below` : 'Describe the task'}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={onKeyDown}
              className="field-sizing-content block max-h-[40dvh] min-h-24 w-full resize-none bg-transparent px-4 pt-3 text-base outline-none"
            />
            <div className="flex flex-wrap items-center gap-1 px-2 pb-2">
              <FolderField value={folder} problem={problem} onChange={chooseFolder} />
              {agent && (
                <Choice
                  label="Mode"
                  value={usedMode}
                  title={modeNotes[usedMode]}
                  alarming={usedMode === 'bypass'}
                  options={agent.modes.map((one) => ({ value: one, label: modeNames[one] }))}
                  onChange={(value) => setMode(value as PermissionMode)}
                />
              )}
              {models.length > 0 && (
                <Choice
                  label="Model"
                  value={models.some(({ id }) => id === model) ? model : ''}
                  options={[
                    { value: '', label: 'Usual model' },
                    ...models.map(({ id, name }) => ({ value: id, label: name })),
                  ]}
                  onChange={setModel}
                />
              )}
              <button
                type="submit"
                aria-label="Start"
                title="Start (Enter)"
                disabled={!agent || sending}
                className="ml-auto flex h-9 items-center gap-1.5 rounded-lg bg-mark-fill px-3 text-sm font-medium text-white hover:brightness-110 disabled:bg-hover disabled:text-faint pointer-coarse:h-11"
              >
                Start <ArrowUp size={16} aria-hidden />
              </button>
            </div>
          </div>
          <div className="flex flex-wrap items-center gap-x-4 px-1 pt-1.5 text-xs text-soft">
            <p className="min-h-6 flex-1 basis-64 pt-0.5">{agent && modeNotes[usedMode]}</p>
            <label
              className="flex items-center gap-1.5 pointer-coarse:min-h-11"
              title="Settings, hooks and servers that lie in the folder may load. Without trust only your own do."
            >
              <input
                type="checkbox"
                checked={trust}
                onChange={(event) => setTrust(event.target.checked)}
                className="accent-mark-fill"
              />
              I trust this folder’s own settings
            </label>
          </div>
          <AgentChoice
            agents={agents}
            status={status}
            error={error && problemWords(error)}
            chosen={agent?.id}
            onChoose={setChosen}
          />
        </form>
        {/* Not before what is above it has its height. */}
        {(agents.length > 0 || error) && (
          <p className="pt-4 text-sm text-soft">
            Begun elsewhere?{' '}
            <Link
              to={{ name: 'import' }}
              className="text-mark hover:underline pointer-coarse:inline-flex pointer-coarse:min-h-11 pointer-coarse:items-center"
            >
              Go on with a conversation that an agent keeps
            </Link>
          </p>
        )}
      </div>
    </div>
  )
}
