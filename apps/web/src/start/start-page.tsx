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
  const wanted = chosen ?? kept.agent
  const agent = pickAgent(agents, wanted)
  const notice = agentNotice(agents, wanted, agent)
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
    try {
      const session = await client.createSession({
        agent: agent.id,
        cwd: folder.trim() || '~',
        mode: agent.modes.includes(mode) ? mode : (agent.modes[0] ?? 'ask'),
        ...(model !== '' && agent.capabilities.models && { model }),
        ...(trust && { trust }),
        ...(text.trim() !== '' && { prompt: text.trim() }),
      })
      prefer({ agent: agent.id, folder: session.cwd })
      go({ name: 'session', id: session.id })
    } catch (thrown) {
      toastError(thrown)
      setSending(false)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    if (matchMedia('(pointer: coarse)').matches) return
    event.preventDefault()
    void start()
  }
  const models = agent?.capabilities.models ? (agent.models ?? []) : []
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto flex min-h-full w-full max-w-2xl flex-col justify-center px-5 py-8 max-md:justify-start max-md:px-3 max-md:py-2">
        <div className="flex items-center pb-4">
          <BackToSessions />
          <h1 className="text-2xl font-semibold tracking-tight max-md:text-xl">What should be done?</h1>
        </div>
        {notice && <AgentNoticeView id="agent-notice" notice={notice} />}
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
              <FolderField value={folder} onChange={setFolder} />
              {agent && (
                <Choice
                  label="Mode"
                  value={agent.modes.includes(mode) ? mode : (agent.modes[0] ?? 'ask')}
                  title={modeNotes[mode]}
                  alarming={mode === 'bypass'}
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
            <p className="min-h-6 flex-1 basis-64 pt-0.5">{agent && modeNotes[mode]}</p>
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
            told={notice?.agent.id}
            onChoose={setChosen}
          />
        </form>
        <p className="pt-4 text-sm text-soft">
          Begun elsewhere?{' '}
          <Link
            to={{ name: 'import' }}
            className="text-mark hover:underline pointer-coarse:inline-flex pointer-coarse:min-h-11 pointer-coarse:items-center"
          >
            Go on with a conversation that an agent keeps
          </Link>
        </p>
      </div>
    </div>
  )
}
