import { ArrowUp, TriangleAlert } from 'lucide-react'
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import { loadAgents } from '../base/agents.ts'
import { focusAtEnd, hasKeyboard } from '../base/focus.ts'
import { useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { AttachButton } from '../composer/attach-button.tsx'
import { AttachmentChips } from '../composer/attachments.tsx'
import { DroppedFiles } from '../composer/dropped-files.tsx'
import { filesIn } from '../composer/files.ts'
import { modeNotes, useChoosable } from '../composer/modes.ts'
import { PromptField } from '../composer/prompt-field.tsx'
import { effortGroup, modeGroup, modelGroup, SettingsChip } from '../composer/settings-chip.tsx'
import { AgentNextStep } from '../parts/agents/agent-state.tsx'
import { readinessOf } from '../parts/agents/readiness.logic.ts'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { BackToSessions, Link } from '../parts/link.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { AgentChip } from './agent-chip.tsx'
import type { AgentNotice } from './agent-notice.logic.ts'
import type { Attempt } from './attempts.logic.ts'
import { Examples } from './examples.tsx'
import { FolderField } from './folder-field.tsx'
import { type SessionChoices, useSessionChoices } from './session-choices.ts'

const recentPart = lazyPart(() => import('./recent.tsx'))
const attemptsPart = lazyPart(() => import('./attempt-choices.tsx'))
const worktreePart = lazyPart(() => import('./worktree-choice.tsx'))

/** The page for a new session: one composer, and below it examples, recent projects and recent sessions. */
export function StartPage() {
  return useMay('prompt') ? <NewSession /> : <ReadersPage />
}

/** Shown to people who may only read. */
function ReadersPage() {
  return (
    <div className="mx-auto w-full max-w-2xl px-5 pt-[max(3rem,20dvh)] max-md:px-3 max-md:pt-2">
      <div className="flex items-center pb-2">
        <BackToSessions />
        <h1 className="text-title font-semibold tracking-tight">Choose a session</h1>
      </div>
      <NeedsScope what="You can read the sessions in the list. Starting a session" scope="prompt" />
    </div>
  )
}

function NewSession() {
  const choices = useSessionChoices()
  const { agents, error, agent, notice } = choices
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto w-full max-w-2xl px-5 pb-8 max-md:px-3 max-md:py-2">
        {/* The notice has reserved space above the heading, so that nothing shifts when it appears. */}
        <div className="flex flex-col justify-end md:min-h-[max(10.5rem,20dvh)] md:pt-4">
          <div className="flex items-center pb-4 max-md:pb-2">
            <BackToSessions />
            <h1 className="text-title font-semibold tracking-tight">What do you want to build?</h1>
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
          {choices.attempts && <Attempts choices={choices} attempts={choices.attempts} />}
          <Trust choices={choices} />
          {/* The space is reserved, so that nothing shifts when the choice appears. */}
          <div className="min-h-7 pointer-coarse:min-h-12">
            {choices.folder.trim() !== '' && (
              <Lazy part={worktreePart} frame={() => null}>
                {(WorktreeChoice) => (
                  <WorktreeChoice
                    cwd={choices.cwd}
                    chosen={choices.worktree}
                    isNeeded={choices.attempts !== undefined}
                    onChoose={choices.chooseWorktree}
                    onOffer={choices.setOffer}
                  />
                )}
              </Lazy>
            )}
          </div>
        </form>
        {agent && readinessOf(agent) === 'unsure' && agent.hint !== undefined && (
          <div className="mt-2 rounded-lg border border-line *:border-t-0">
            <AgentNextStep agent={agent} />
          </div>
        )}
        <Examples choices={choices} />
        <Lazy part={recentPart} frame={() => null}>
          {(Recent) => <Recent choices={choices} />}
        </Lazy>
        {/* The link is shown once the part above it has its final height. */}
        {(agents.length > 0 || error) && <ImportLink />}
      </div>
    </div>
  )
}

function Attempts(props: { choices: SessionChoices; attempts: readonly Attempt[] }) {
  return <Lazy part={attemptsPart}>{(AttemptChoices) => <AttemptChoices {...props} />}</Lazy>
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
        placeholder={agent && !choices.attempts ? `Describe a task for ${agent.name}` : 'Describe a task'}
        describedBy={notice && 'agent-notice'}
        className="min-h-24 px-4 pt-3"
        onKey={onKey}
      />
      {/* The folder and the worktree are in a row of their own, so that they do not move when another agent has more settings. */}
      <div className="flex flex-wrap items-center gap-1.5 px-2 pb-1.5">
        <FolderField
          value={choices.folder}
          problem={choices.problem}
          onChange={choices.chooseFolder}
          onLeave={choices.checkFolder}
        />
      </div>
      <div className="flex flex-wrap items-center gap-1 px-2 pb-2">
        <AttachButton onFiles={attach} />
        {!choices.attempts && <AgentChip choices={choices} />}
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
  const { agent, attempts, mode, models, model, efforts, effort, chooseMode, chooseModel, chooseEffort } =
    choices
  const modes = useChoosable(choices.modes, mode)
  if (!agent) return null
  // An empty model or effort stands for the default of the agent.
  const choosable = models.map((one) => (one.isDefault ? { ...one, id: '' } : one))
  return (
    <SettingsChip
      groups={[
        modeGroup(mode, modes, chooseMode),
        ...(efforts.length > 0 && !attempts
          ? [effortGroup(effort, efforts, { hasDefault: true, onChoose: chooseEffort })]
          : []),
        ...(models.length > 0 && !attempts ? [modelGroup(model, choosable, chooseModel)] : []),
      ]}
    />
  )
}

/** The description of the chosen mode, and the choice to load the project's settings. */
function Trust({ choices: { agent, attempts, mode, trust, chooseTrust } }: { choices: SessionChoices }) {
  const trusts = useMay('admin')
  return (
    <div className="flex flex-wrap items-center gap-x-4 px-1 pt-1.5 text-xs text-soft">
      <p className={`min-h-6 flex-1 basis-64 pt-0.5 ${mode === 'bypass' ? 'font-medium text-bad' : ''}`}>
        {agent && modeNotes[mode]}
      </p>
      {trusts && !attempts && (
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
