import type { BlockOf } from '@parley/protocol'
import { ArrowRightLeft, Ellipsis, Link as LinkIcon } from 'lucide-react'
import { useState } from 'react'
import { useAgent } from '../base/agents.ts'
import { hrefOf } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { IconButton } from '../parts/button.tsx'
import { CopyButton, copyText } from '../parts/copy-button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import { toast } from '../parts/toasts.tsx'
import { sessionActions } from '../session-data/session-actions.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'

const promptMenu = lazyPart(() => import('./prompt-menu.tsx'))
const forkPart = lazyPart(() => import('./fork-dialog.tsx'))
const goBackPart = lazyPart(() => import('./go-back-dialog.tsx'))

export type RowActionsProps = { seq: number; text: string; prompt?: BlockOf<'prompt'>; className?: string }

/** The buttons of a message, and the menu of a prompt. */
export default function MessageActions({ seq, text, prompt, className = '' }: RowActionsProps) {
  const id = useSessionId()
  const copyLink = () => {
    const address = hrefOf({ name: 'session', id, seq })
    void copyText(address, () => toast('Copied a link to this message.'))
  }
  return (
    <span
      className={`absolute flex rounded-md bg-page opacity-0 transition-opacity group-hover/row:opacity-100 focus-within:opacity-100 pointer-coarse:static pointer-coarse:hidden pointer-coarse:justify-end pointer-coarse:opacity-100 pointer-coarse:in-[article:focus-within]:flex pointer-coarse:[&>button]:size-11! ${className}`}
    >
      <CopyButton text={() => text} label="Copy text" className="size-6!" />
      <IconButton label="Copy link" className="size-6!" onClick={copyLink}>
        <LinkIcon size={13} />
      </IconButton>
      <GoOn seq={seq} text={text} promptId={prompt?.id} />
      {prompt && startedTurn(prompt) && <PromptActions prompt={prompt} />}
    </span>
  )
}

/** Opens the hand-off of the conversation before a prompt, or up to an answer. */
function GoOn({
  seq,
  text,
  promptId,
}: Pick<RowActionsProps, 'seq' | 'text'> & { promptId: string | undefined }) {
  const point = promptId === undefined ? { upTo: seq } : { before: promptId, prompt: text }
  if (!useMay('prompt')) return null
  return (
    <IconButton
      label={
        promptId === undefined
          ? 'Hand over the conversation up to here…'
          : 'Hand over the conversation before this prompt…'
      }
      className="size-6!"
      onClick={() => sessionActions()?.handOff(point)}
    >
      <ArrowRightLeft size={13} />
    </IconButton>
  )
}

/**
 * True if the prompt is a message to the model and started a turn. A session can be forked only before such a prompt,
 * and rewound only to such a prompt.
 */
function startedTurn({ turnId, delivery, parts: [first] }: BlockOf<'prompt'>): boolean {
  const isCommand = first?.type === 'command' && (first.name === 'compact' || first.name === 'rewind')
  return turnId !== undefined && delivery === 'queue' && !isCommand
}

/** The menu of a prompt that started a turn. */
function PromptActions({ prompt }: { prompt: BlockOf<'prompt'> }) {
  const can = useAgent(useSessionState((state) => state.agent))?.capabilities
  const [asking, setAsking] = useState<'fork' | 'go back'>()
  const [prompts, decides] = [useMay('prompt'), useMay('decide')]
  const onClose = () => setAsking(undefined)
  if (!(can?.forkBefore && prompts) && !decides) return null
  return (
    <>
      <Menu
        label="Go back to this prompt"
        className="size-6!"
        part={promptMenu}
        list={(PromptMenu, menu) => (
          <PromptMenu {...menu} onFork={() => setAsking('fork')} onGoBack={() => setAsking('go back')} />
        )}
      >
        <Ellipsis size={14} />
      </Menu>
      {asking === 'fork' && (
        <Lazy part={forkPart}>{(ForkDialog) => <ForkDialog prompt={prompt} onClose={onClose} />}</Lazy>
      )}
      {asking === 'go back' && (
        <Lazy part={goBackPart}>{(GoBackDialog) => <GoBackDialog prompt={prompt} onClose={onClose} />}</Lazy>
      )}
    </>
  )
}
