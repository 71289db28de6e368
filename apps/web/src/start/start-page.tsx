import type { PermissionMode } from '@parley/protocol'
import { ArrowUp, TriangleAlert } from 'lucide-react'
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import { loadAgents } from '../base/agents.ts'
import { errorText } from '../base/error-text.logic.ts'
import { focusAtEnd, hasKeyboard } from '../base/focus.ts'
import { useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { AttachButton } from '../composer/attach-button.tsx'
import { AttachmentChips } from '../composer/attachments.tsx'
import { DroppedFiles } from '../composer/dropped-files.tsx'
import { filesIn } from '../composer/files.ts'
import { effortName } from '../composer/model-choice.logic.ts'
import { PromptField } from '../composer/prompt-field.tsx'
import { Choice, modeNames, modeNotes, useChoosable } from '../composer/settings-row.tsx'
import { AgentNextStep } from '../parts/agents/agent-state.tsx'
import { BackToSessions, Link } from '../parts/link.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { AgentChoice } from './agent-choice.tsx'
import type { AgentNotice } from './agent-notice.logic.ts'
import { FolderField } from './folder-field.tsx'
import { type SessionChoices, useSessionChoices } from './session-choices.ts'

/** The page for a new session: prompt, folder, settings and agent. */
export function StartPage() {
  return useMay('prompt') ? <NewSession /> : <ReadersPage />
}

/** Shown to people who may only read. */
function ReadersPage() {
  return (
    <div className="mx-auto w-full max-w-2xl px-5 pt-[max(3rem,20dvh)] max-md:px-3 max-md:pt-2">
      <div className="flex items-center pb-2">
        <BackToSessions />
        <h1 className="text-2xl font-semibold tracking-tight max-md:text-xl">Choose a session</h1>
      </div>
      <NeedsScope what="You can read the sessions in the list. Starting a session" scope="prompt" />
    </div>
  )
}

function NewSession() {
  const choices = useSessionChoices()
  const { agents, status, error, agent, notice } = choices
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto w-full max-w-2xl px-5 pb-8 max-md:px-3 max-md:py-2">
        {/* The notice has reserved space above the heading, so that nothing shifts when it appears. */}
        <div className="flex flex-col justify-end md:min-h-[max(10.5rem,20dvh)] md:pt-4">
          <div className="flex items-center pb-4 max-md:pb-2">
            <BackToSessions />
            <h1 className="text-2xl font-semibold tracking-tight max-md:text-xl">
              What do you want to build?
            </h1>
          </div>
          {notice && (
            <div className="md:order-first">
              <AgentNoticeView id="agent-notice" notice={notice} />
            </div>
          )}
        </div>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void choices.start()
          }}
        >
          <Task choices={choices} />
          <Trust choices={choices} />
          <AgentChoice
            agents={agents}
            status={status}
            error={error && errorText(error)}
            chosen={agent?.id}
            onChoose={choices.chooseAgent}
          />
        </form>
        {/* Shown once the part above has its final height. */}
        {(agents.length > 0 || error) && <ImportLink />}
      </div>
    </div>
  )
}

/** The prompt field, with the folder and the settings below it. */
function Task({ choices }: { choices: SessionChoices }) {
  const { agent, notice, attachments, cwd } = choices
  const field = useRef<HTMLTextAreaElement>(null)
  const findFiles = useMemo(() => filesIn(cwd), [cwd])
  const route = useRoute()
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening the page again focuses the field again
  useEffect(() => {
    if (hasKeyboard()) focusAtEnd(field.current)
  }, [route])
  const onKey = ({ key, shiftKey }: KeyboardEvent) => {
    if (key !== 'Enter' || shiftKey || !hasKeyboard()) return false
    void choices.start()
    return true
  }
  const attach = (files: readonly File[]) => void attachments.add(files)
  return (
    <div className="relative rounded-xl border border-edge bg-card shadow-sm focus-within:border-mark">
      <DroppedFiles onFiles={attach} />
      <AttachmentChips attachments={attachments} />
      <PromptField
        field={field}
        draft={choices.draft}
        attachments={attachments}
        findFiles={findFiles}
        side="below"
        rows={3}
        placeholder={agent ? `Describe a task for ${agent.name}` : 'Describe a task'}
        describedBy={notice && 'agent-notice'}
        className="min-h-24 px-4 pt-3"
        onKey={onKey}
      />
      <div className="flex flex-wrap items-center gap-1 px-2 pb-2">
        <FolderField
          value={choices.folder}
          problem={choices.problem}
          onChange={choices.chooseFolder}
          onLeave={choices.checkFolder}
        />
        <AttachButton onFiles={attach} />
        <Settings choices={choices} />
        <button
          type="submit"
          aria-label="Start"
          title="Start (Enter)"
          disabled={!agent || choices.sending}
          className="ml-auto flex h-9 items-center gap-1.5 rounded-lg bg-mark-fill px-3 text-sm font-medium text-white hover:brightness-110 disabled:bg-hover disabled:text-faint pointer-coarse:h-11"
        >
          Start <ArrowUp size={16} aria-hidden />
        </button>
      </div>
    </div>
  )
}

function Settings({ choices }: { choices: SessionChoices }) {
  const { agent, mode, models, model, efforts, effort, chooseMode, chooseModel, chooseEffort } = choices
  const modes = useChoosable(agent?.modes ?? [], mode)
  return (
    <>
      {agent && (
        <Choice
          label="Mode"
          value={mode}
          title={modeNotes[mode]}
          alarming={mode === 'bypass'}
          options={modes.map((one) => ({ value: one, label: modeNames[one] }))}
          onChange={(value) => chooseMode(value as PermissionMode)}
        />
      )}
      {models.length > 0 && (
        <Choice
          label="Model"
          value={model}
          options={[
            ...(models.some(({ isDefault }) => isDefault) ? [] : [{ value: '', label: 'Default model' }]),
            ...models.map(({ id, name, isDefault }) => ({ value: isDefault ? '' : id, label: name })),
          ]}
          onChange={chooseModel}
        />
      )}
      {efforts.length > 0 && (
        <Choice
          label="Effort"
          value={effort}
          options={[
            { value: '', label: 'Default effort' },
            ...efforts.map((one) => ({ value: one, label: effortName(one) })),
          ]}
          onChange={chooseEffort}
        />
      )}
    </>
  )
}

/** The description of the chosen mode, and the choice to load the project's settings. */
function Trust({ choices: { agent, mode, trust, chooseTrust } }: { choices: SessionChoices }) {
  const trusts = useMay('admin')
  return (
    <div className="flex flex-wrap items-center gap-x-4 px-1 pt-1.5 text-xs text-soft">
      <p className="min-h-6 flex-1 basis-64 pt-0.5">{agent && modeNotes[mode]}</p>
      {trusts && (
        <label
          className="flex items-center gap-1.5 pointer-coarse:min-h-11"
          title="Trusts this folder. Otherwise agents load only your own settings."
        >
          <input
            type="checkbox"
            checked={trust}
            onChange={(event) => chooseTrust(event.target.checked)}
            className="accent-mark-fill"
          />
          Load this project’s settings, hooks and MCP servers
        </label>
      )}
    </div>
  )
}

function ImportLink() {
  return (
    <p className="pt-4 text-sm text-soft">
      <Link
        to={{ name: 'import' }}
        className="text-mark hover:underline pointer-coarse:inline-flex pointer-coarse:min-h-11 pointer-coarse:items-center"
      >
        Continue a Claude or Codex session
      </Link>
    </p>
  )
}

/** Shown above the prompt field, so that nobody writes a prompt for an agent that cannot run it. */
function AgentNoticeView({ id, notice }: { id: string; notice: AgentNotice }) {
  const { agent, text } = notice
  return (
    <div className="mb-3 rounded-lg border border-wait-line bg-wait-wash" data-testid="agent-notice">
      <div className="flex items-center gap-2.5 px-3 py-1.5 text-sm">
        <TriangleAlert size={15} aria-hidden className="shrink-0 text-wait" />
        <p id={id} className="min-w-0 flex-1 font-medium">
          {text}
        </p>
        <button
          type="button"
          onClick={() => void loadAgents()}
          className="min-h-7 shrink-0 rounded px-1 text-xs text-soft underline hover:text-ink pointer-coarse:min-h-11"
        >
          Refresh
        </button>
      </div>
      <AgentNextStep agent={agent} />
    </div>
  )
}
