import type { SearchHit } from '@parley/protocol'
import { Bot, type LucideIcon, SquareTerminal, User, Wrench } from 'lucide-react'
import { useAgentName } from '../base/agents.ts'
import { ago, folderName, visible } from '../base/format.logic.ts'
import { piecesOf } from './hit-text.logic.ts'

const kinds: Record<SearchHit['kind'], { name: string; icon: LucideIcon }> = {
  prompt: { name: 'Prompt', icon: User },
  answer: { name: 'Answer', icon: Bot },
  call: { name: 'Tool call', icon: Wrench },
  output: { name: 'Output', icon: SquareTerminal },
}

/** A hit on two or three lines: the session, and the text with the found words. */
export function HitText({ hit, now }: { hit: SearchHit; now: number }) {
  const { session, kind, at, text, marks } = hit
  const agentName = useAgentName(session.agent)
  const { name, icon: Icon } = kinds[kind]
  return (
    <span className="flex min-w-0 flex-1 items-start gap-2">
      <span className="flex h-5 w-4 shrink-0 items-center justify-center text-soft" title={name}>
        <Icon size={14} aria-hidden />
        <span className="sr-only">{name}:</span>
      </span>
      <span className="min-w-0 flex-1">
        <span className="line-clamp-2 text-sm [overflow-wrap:anywhere]">
          {piecesOf(text, marks).map((piece, index) =>
            piece.isMarked ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
              <mark key={index} className="rounded-xs bg-wait-wash font-medium text-ink">
                {visible(piece.text)}
              </mark>
            ) : (
              visible(piece.text)
            ),
          )}
        </span>
        <span className="flex text-xs text-faint">
          <span className="min-w-0 truncate">
            {visible(session.title) || 'Untitled'} · {agentName} · {folderName(session.cwd)}
          </span>
          <span className="ml-auto shrink-0 pl-2 tabular-nums">{ago(at, now)}</span>
        </span>
      </span>
    </span>
  )
}
