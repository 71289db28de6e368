import type { BlockOf, OpenBlock, PromptPart } from '@parley/protocol'
import { ChevronRight, CircleStop, CornerDownRight, FileText, FoldVertical, Info, Layers } from 'lucide-react'
import { memo, type ReactNode, useState } from 'react'
import { useNow } from '../base/clock.ts'
import { useMatchesFind } from '../base/find-text.ts'
import { amount, dollars, plural, timeOf, turnTime, visible, within } from '../base/format.logic.ts'
import { asJson } from '../call/call-text.logic.ts'
import { Picture } from '../call/picture.tsx'
import { TerminalText } from '../parts/code/terminal-text.tsx'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { showChanges } from '../session-data/shown-changes.ts'
import { Callout } from './callout.tsx'
import { FailedTurn } from './failed-turn.tsx'
import type { GroupNode } from './nodes.logic.ts'
import { RewoundTurn } from './rewound-turn.tsx'
import { RowActions } from './row-actions.tsx'
import { groupSummary } from './rows.logic.ts'
import { isRewind, rewindText, stopText } from './turn-end.logic.ts'

type Toggle = (key: string, open: boolean) => void

export const PromptRow = memo(function PromptRow({ block }: { block: BlockOf<'prompt'> }) {
  const steer = block.delivery === 'steer'
  if (block.status === 'withdrawn') {
    return <p className="truncate text-xs text-faint">Withdrawn: {visible(promptSummary(block.parts))}</p>
  }
  return (
    <div className="group/row relative ml-auto w-fit max-w-[88%]">
      <RowActions
        seq={block.seq}
        text={promptSummary(block.parts)}
        promptId={block.id}
        className="top-1 right-full mr-1"
      />
      <div
        className={` rounded-xl px-3.5 py-2 [overflow-wrap:anywhere] ${steer ? 'rounded-tr-sm border border-dashed border-mark bg-page' : 'rounded-tr-sm bg-mark-wash'}`}
      >
        {steer && (
          <p className="flex items-center gap-1 pb-0.5 text-xs font-medium text-mark">
            <CornerDownRight size={12} aria-hidden /> Sent while running
          </p>
        )}
        {block.outside && <p className="pb-0.5 text-xs font-medium text-soft">In the agent’s own program</p>}
        <Clamped text={promptSummary(block.parts)}>
          <PromptParts parts={block.parts} />
        </Clamped>
      </div>
    </div>
  )
})

const longPrompt = 1500

/** A very long prompt is usually a pasted file: only its beginning is shown at first. */
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

function promptSummary(parts: readonly PromptPart[]): string {
  return parts
    .map((part) => (part.type === 'text' ? part.text : (rewindText(part) ?? part.name ?? part.type)))
    .join(' ')
}

export function PromptParts({ parts }: { parts: readonly PromptPart[] }) {
  return (
    <div className="flex flex-col gap-1.5">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place
        <PartView key={index} part={part} />
      ))}
    </div>
  )
}

function PartView({ part }: { part: PromptPart }) {
  if (part.type === 'text') return <p className="whitespace-pre-wrap">{part.text}</p>
  if (part.type === 'image') {
    return <Picture mimeType={part.mimeType} data={part.data} name={part.name ?? 'Attached picture'} />
  }
  if (part.type === 'command') {
    const restored = rewindText(part)
    if (restored !== undefined) return <p className="text-sm">{restored}</p>
    return (
      <p className="font-mono text-sm">
        /{part.name} {part.arguments}
      </p>
    )
  }
  return (
    <p className="flex items-center gap-1.5 font-mono text-xs text-soft">
      <FileText size={13} aria-hidden /> {visible(part.path ?? part.name)}
    </p>
  )
}

export const TextRow = memo(function TextRow({
  text,
  done,
  cut,
  seq,
}: {
  text: string
  done: boolean
  cut: boolean
  seq?: number
}) {
  return (
    <div className="group/row relative px-1.5">
      {seq !== undefined && <RowActions seq={seq} text={text} className="-top-1 right-0" />}
      <LazyMarkdown text={text} done={done} />
      {cut && <p className="pt-1 text-xs text-faint">Interrupted</p>}
    </div>
  )
})

/** A thought shows one line until it is expanded. */
export const ThinkingRow = memo(function ThinkingRow({
  id,
  text,
  done,
  open,
  onToggle,
}: {
  id: string
  text: string
  done: boolean
  open: boolean
  onToggle: Toggle
}) {
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => onToggle(id, !open)}
        className="flex min-h-7 w-full items-center gap-2 rounded-md px-1.5 text-left text-sm text-faint hover:bg-hover/60 pointer-coarse:min-h-11"
      >
        <span className={`shrink-0 font-medium italic ${done ? '' : 'breathe'}`}>
          {done ? 'Thought' : 'Thinking'}
        </span>
        {!open && <span className="min-w-0 flex-1 truncate italic">{peek(text, done)}</span>}
        <ChevronRight size={14} aria-hidden className={`ml-auto shrink-0 ${open ? 'rotate-90' : ''}`} />
      </button>
      {open && (
        <div className="ml-3 border-l border-line pb-1 pl-3.5 text-sm whitespace-pre-wrap text-soft [overflow-wrap:anywhere]">
          {text}
        </div>
      )}
    </div>
  )
})

function peek(text: string, done: boolean): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return ((done ? lines[0] : lines.at(-1)) ?? '').slice(0, 240)
}

export const GroupRow = memo(function GroupRow({
  node,
  open,
  onToggle,
}: {
  node: GroupNode
  open: boolean
  onToggle: Toggle
}) {
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={() => onToggle(node.key, !open)}
      className="flex min-h-7 w-full items-center gap-2 rounded-md px-1.5 text-left text-sm text-soft hover:bg-hover/60 pointer-coarse:min-h-11"
    >
      <Layers size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 truncate">{groupSummary(node)}</span>
      <span className="ml-auto shrink-0 text-xs text-faint">{plural(node.nodes.length, 'step')}</span>
      <ChevronRight size={14} aria-hidden className={`shrink-0 text-faint ${open ? 'rotate-90' : ''}`} />
    </button>
  )
})

export const EndRow = memo(function EndRow({
  block,
  files,
  waited,
  folder,
}: {
  block: BlockOf<'turn-end'>
  files: readonly string[]
  waited: number
  folder: string
}) {
  const sessionId = useSessionId()
  const { outcome, stopReason, durationMs, usage, costUsd, notionalCost, error, structuredOutput } = block.end
  const facts = [
    timeOf(block.at, useNow()),
    turnTime(durationMs, waited),
    usage && `${amount(usage.input + usage.output)} tokens`,
    costUsd !== undefined && costUsd > 0 && `${dollars(costUsd)}${notionalCost ? ' at list price' : ''}`,
  ].filter(Boolean)
  return (
    <div>
      {outcome === 'failed' && <FailedTurn turnId={block.turnId} error={error} />}
      {isRewind(stopReason) && <RewoundTurn turnId={block.turnId} end={block.end} />}
      {outcome === 'completed' && stopText(stopReason) !== undefined && (
        <Callout level="warning" text={stopText(stopReason) ?? ''} />
      )}
      {error && <ProcessEnd details={error.details} />}
      {outcome === 'unknown' && (
        <Callout
          level="warning"
          text="The server restarted during this turn. Some actions may be missing; check Changes."
        />
      )}
      {structuredOutput !== undefined && (
        <pre className="terminal my-1 rounded-md bg-sunk px-2.5 py-2">{asJson(structuredOutput)}</pre>
      )}
      <p className="flex flex-wrap items-center gap-x-2.5 px-1.5 pt-0.5 pb-2 text-xs text-faint tabular-nums">
        {outcome === 'cancelled' && (
          <span className="flex items-center gap-1 font-medium text-soft">
            <CircleStop size={12} aria-hidden /> Stopped
          </span>
        )}
        {facts.join(' · ')}
        {files.length > 0 && (
          <button
            type="button"
            className="min-w-0 truncate rounded text-left hover:text-ink hover:underline pointer-coarse:min-h-11"
            title={`Show the changes:\n${files.join('\n')}`}
            onClick={() =>
              showChanges(
                sessionId,
                files.map((file) => within(file, folder)),
              )
            }
          >
            {plural(files.length, 'file')} changed:{' '}
            {files
              .slice(0, 3)
              .map((file) => within(file, folder))
              .join(', ')}
            {files.length > 3 && '…'}
          </button>
        )}
      </p>
    </div>
  )
})

/** How an agent's process ended, and the end of its stderr. */
function ProcessEnd({ details = {} }: { details?: Readonly<Record<string, unknown>> | undefined }) {
  const { exitCode, signal, stderrTail } = details
  const how =
    typeof signal === 'string'
      ? `ended by ${signal}`
      : typeof exitCode === 'number'
        ? `exit code ${exitCode}`
        : undefined
  if (how === undefined && typeof stderrTail !== 'string') return null
  return (
    <div className="px-2.5 pb-1 text-xs text-soft">
      {how && <p className="pb-1">Process: {how}</p>}
      {typeof stderrTail === 'string' && <TerminalText output={stderrTail} label="Last output" />}
    </div>
  )
}

export const NoticeRow = memo(function NoticeRow({ block }: { block: BlockOf<'notice'> }) {
  if (block.code === 'context_compacted') return <Compaction text={block.text} />
  if (block.level === 'info') {
    return (
      <p className="flex items-start gap-2 px-1.5 py-0.5 text-sm text-soft">
        <Info size={14} aria-hidden className="mt-1 shrink-0" />
        <span className="[overflow-wrap:anywhere]">{visible(block.text)}</span>
      </p>
    )
  }
  return <Callout level={block.level} text={block.text} />
})

/** A divider: the agent has only a summary of everything above it. */
function Compaction({ text }: { text: string }) {
  const [said = '', ...summary] = text.split('\n\n')
  const isWanted = useMatchesFind(text)
  return (
    <div className="py-2 text-xs text-soft">
      <p className="flex items-center gap-2.5 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        <FoldVertical size={13} aria-hidden className="shrink-0" />
        {said}
      </p>
      {summary.length > 0 && (
        <details open={isWanted}>
          <summary className="mx-auto flex w-fit items-center rounded hover:text-ink pointer-coarse:min-h-11">
            Show the summary
          </summary>
          <div className="pt-1 text-sm">
            <LazyMarkdown text={summary.join('\n\n')} />
          </div>
        </details>
      )}
    </div>
  )
}

export const UnrecognisedRow = memo(function UnrecognisedRow({ block }: { block: BlockOf<'unrecognised'> }) {
  return (
    <details className="px-1.5 text-xs text-faint">
      <summary className="w-fit rounded py-1 hover:text-ink pointer-coarse:py-3.5">
        Unknown message, as the agent sent it
      </summary>
      <pre className="terminal mt-1 max-h-72 overflow-auto rounded-md bg-sunk px-2.5 py-2">
        {asJson(block.native).slice(0, 20_000)}
      </pre>
    </details>
  )
})

export function DraftRow({ block }: { block: Extract<OpenBlock, { type: 'tool-call' }> }) {
  return (
    <p className="flex min-h-7 items-center gap-2 px-1.5 text-sm text-faint">
      <span className="breathe shrink-0 font-medium">{block.title ?? block.name}</span>
      <span className="min-w-0 truncate font-mono text-xs">{visible(block.input.slice(-120))}</span>
    </p>
  )
}
