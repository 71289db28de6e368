import { ArrowRightLeft, Link as LinkIcon, RotateCcw } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useAgent } from '../base/agents.ts'
import { hrefOf } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { IconButton } from '../parts/button.tsx'
import { CopyButton, copyText } from '../parts/copy-button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { toast } from '../parts/toasts.tsx'
import { sessionActions } from '../session-data/session-actions.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'

const rewindPart = lazyPart(() => import('./rewind-dialog.tsx'))

type Props = { seq: number; text: string; promptId?: string; className?: string }

/**
 * The actions of a message. They are not rendered before the pointer or the focus first reaches the row. On
 * touch devices they have a line of their own.
 */
export function RowActions(props: Props) {
  const [near, setNear] = useState(false)
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const row = place.current?.closest('article')
    const come = () => setNear(true)
    const ways = ['pointerenter', 'focusin']
    for (const way of ways) row?.addEventListener(way, come)
    return () => {
      for (const way of ways) row?.removeEventListener(way, come)
    }
  }, [])
  return near ? <Actions {...props} /> : <span ref={place} hidden />
}

function Actions({ seq, text, promptId, className = '' }: Props) {
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
      <GoOn seq={seq} text={text} promptId={promptId} />
      {promptId !== undefined && <Rewind promptId={promptId} />}
    </span>
  )
}

/** Hands over what was before a prompt, or what was said up to an answer. */
function GoOn({ seq, text, promptId }: Pick<Props, 'seq' | 'text'> & { promptId: string | undefined }) {
  const point = promptId === undefined ? { upTo: seq } : { before: promptId, prompt: text }
  if (!useMay('prompt')) return null
  return (
    <IconButton
      label={promptId === undefined ? 'Go on from here with…' : 'Go on from before this prompt with…'}
      className="size-6!"
      onClick={() => sessionActions()?.handOff(point)}
    >
      <ArrowRightLeft size={13} />
    </IconButton>
  )
}

function Rewind({ promptId }: { promptId: string }) {
  const agent = useAgent(useSessionState((state) => state.agent))
  const busy = useSessionState((state) => state.turn !== undefined)
  const [asking, setAsking] = useState(false)
  const decides = useMay('decide')
  if (!agent?.capabilities.rewind || busy || !decides) return null
  return (
    <>
      <IconButton
        label="Restore files to their state before this prompt…"
        className="size-6!"
        onPointerEnter={rewindPart.fetch}
        onClick={() => setAsking(true)}
      >
        <RotateCcw size={13} />
      </IconButton>
      {asking && (
        <Lazy part={rewindPart}>
          {(RewindDialog) => <RewindDialog promptId={promptId} onClose={() => setAsking(false)} />}
        </Lazy>
      )}
    </>
  )
}
