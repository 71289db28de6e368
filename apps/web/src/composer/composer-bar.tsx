import type { Delivery } from '@parley/protocol'
import { ArrowUp, CornerDownRight, ListPlus, Square } from 'lucide-react'
import { withKeys } from '../base/key-names.ts'
import { IconButton } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { useAwaited } from '../session-data/awaited.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { AttachButton } from './attach-button.tsx'
import { SessionSettingsChip } from './session-settings.tsx'

const lazyMeter = lazyPart(() => import('./meter.tsx'))

type Props = {
  empty: boolean
  canSteer: boolean
  /** Whether a prompt that is sent now is queued. */
  queues: boolean
  onFiles: (files: File[]) => void
  onSend: (delivery: Delivery) => void
  onStop: () => void
}

/**
 * The bar below the prompt field: attachments, settings and the send buttons. The buttons to queue and to steer look
 * different. On a phone the bar has two rows, or one while the keyboard is open.
 */
export function ComposerBar({ onFiles, ...rest }: Props) {
  const canSteer = rest.canSteer && !rest.empty
  const usage = useSessionState((state) => state.usage)
  return (
    <div className="@container flex items-center gap-0.5 px-1.5 pb-1.5 [@media(width<48rem)_and_(height>=38rem)]:flex-wrap">
      <AttachButton onFiles={onFiles} />
      <div className="flex min-w-0 flex-1 [@media(width<48rem)_and_(height>=38rem)]:-order-1 [@media(width<48rem)_and_(height>=38rem)]:basis-full">
        <SessionSettingsChip />
      </div>
      {usage && (
        <Lazy part={lazyMeter} frame={() => null}>
          {(Meter) => <Meter usage={usage} beside={canSteer ? 'much' : 'little'} />}
        </Lazy>
      )}
      <SendButtons {...rest} canSteer={canSteer} />
    </div>
  )
}

function SendButtons({ empty, canSteer, queues, onSend, onStop }: Omit<Props, 'onFiles'>) {
  const awaited = useAwaited()
  // While the machine is away, nothing runs that could be stopped.
  const working = useSessionState((state) => state.turn !== undefined) && awaited === undefined
  const interrupted = useSessionState((state) => state.turn?.interrupted ?? false)
  return (
    <span className="ml-auto flex shrink-0 items-center gap-1">
      {canSteer && (
        <button
          type="button"
          onClick={() => onSend('steer')}
          title={withKeys('Steer: send into the running turn (Ctrl+Enter)')}
          className="flex h-8 items-center gap-1 rounded-lg border border-dashed border-mark px-2 text-xs font-medium text-mark hover:bg-mark-wash pointer-coarse:h-11"
        >
          <CornerDownRight size={14} aria-hidden /> Steer
        </button>
      )}
      {working && (
        <IconButton
          label={interrupted ? 'Stopping' : 'Stop (Esc)'}
          onClick={onStop}
          disabled={interrupted}
          className="size-8! border border-edge pointer-coarse:size-11!"
        >
          <Square size={12} fill="currentColor" />
        </IconButton>
      )}
      <button
        type="button"
        aria-label={queues ? 'Queue' : 'Send'}
        title={awaited?.queueTitle ?? (queues ? 'Queue: runs later (Enter)' : 'Send (Enter)')}
        disabled={empty}
        onClick={() => onSend('queue')}
        className="flex size-8 items-center justify-center rounded-lg bg-mark-fill text-white hover:brightness-110 disabled:bg-hover disabled:text-faint pointer-coarse:size-11"
      >
        {queues ? <ListPlus size={16} /> : <ArrowUp size={17} />}
      </button>
    </span>
  )
}
