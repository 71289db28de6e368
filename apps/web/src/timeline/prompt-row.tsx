import type { BlockOf, PromptPart } from '@parley/protocol'
import { CornerDownRight, FileText } from 'lucide-react'
import { memo, type ReactNode, useState } from 'react'
import { otherActorText } from '../base/actor-text.logic.ts'
import { useMatchesFind } from '../base/find-text.ts'
import { visible } from '../base/format.logic.ts'
import { useSelf } from '../base/self.ts'
import { Picture } from '../call/picture.tsx'
import { LazyHandOffCard } from './lazy-rare-rows.tsx'
import { isHandOff, promptSummary, rewindText } from './prompt-text.logic.ts'
import { RowActions } from './row-actions.tsx'

export const PromptRow = memo(function PromptRow({ block }: { block: BlockOf<'prompt'> }) {
  const steer = block.delivery === 'steer'
  const other = otherActorText(block.actor, useSelf())
  if (block.status === 'withdrawn') {
    return <p className="truncate text-xs text-faint">Withdrawn: {visible(promptSummary(block.parts))}</p>
  }
  return (
    // To the left of the prompt, there is room for its actions and for the button that collapses the turn.
    <div className="group/row relative ml-auto w-fit max-w-[min(88%,calc(100%-8rem))] pointer-coarse:max-w-[88%]">
      <RowActions
        seq={block.seq}
        text={promptSummary(block.parts)}
        prompt={block}
        className="top-1 right-full mr-1"
      />
      <div
        className={` rounded-xl px-3.5 py-2 [overflow-wrap:anywhere] ${steer ? 'rounded-tr-sm border border-dashed border-mark bg-page' : 'rounded-tr-sm bg-mark-wash'}`}
      >
        {steer && (
          <p className="flex items-center gap-1 pb-0.5 text-xs font-medium text-mark">
            <CornerDownRight size={12} aria-hidden /> Sent into the running turn
          </p>
        )}
        {other !== undefined && <p className="pb-0.5 text-xs font-medium text-soft">{other}</p>}
        {block.outside && <p className="pb-0.5 text-xs font-medium text-soft">In the agent’s own program</p>}
        <Clamped text={promptSummary(block.parts)}>
          <PromptParts parts={block.parts} />
        </Clamped>
      </div>
    </div>
  )
})

const longPrompt = 1500

/** Shows only the beginning of a very long prompt at first: it is usually a pasted file. */
function Clamped({ text, children }: { text: string; children: ReactNode }) {
  const [chosen, setChosen] = useState(false)
  const isWanted = useMatchesFind(text)
  const all = chosen || isWanted
  if (text.length <= longPrompt) return children
  return (
    <>
      <div className={all ? '' : 'max-h-60 overflow-hidden mask-b-from-70%'}>{children}</div>
      <button
        type="button"
        className="pt-1 text-xs font-medium text-mark underline pointer-coarse:min-h-11"
        onClick={() => setChosen(!all)}
      >
        {all ? 'Show less' : 'Show all'}
      </button>
    </>
  )
}

function PromptParts({ parts }: { parts: readonly PromptPart[] }) {
  return (
    <div className="flex flex-col gap-1.5">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are identified by their index
        <PartView key={index} part={part} />
      ))}
    </div>
  )
}

function PartView({ part }: { part: PromptPart }) {
  if (isHandOff(part)) return <LazyHandOffCard part={part} />
  if (part.type === 'text') return <p className="whitespace-pre-wrap">{part.text}</p>
  if (part.type === 'image') {
    return <Picture mimeType={part.mimeType} data={part.data} name={part.name ?? 'Attached picture'} />
  }
  if (part.type === 'command') {
    const restored = rewindText(part)
    if (restored !== undefined) return <p className="text-sm">{restored}</p>
    return (
      <p className="text-sm">
        /{part.name} {part.arguments}
      </p>
    )
  }
  return (
    <p className="flex items-center gap-1.5 text-xs text-soft">
      <FileText size={13} aria-hidden /> {visible(part.path ?? part.name)}
    </p>
  )
}
