import type { BlockOf, Diff } from '@parley/protocol'
import { LoaderCircle } from 'lucide-react'
import { memo } from 'react'
import { useNow } from '../base/clock.ts'
import { duration, plural, relativePath, visible } from '../base/format.logic.ts'
import {
  callLabel,
  commandRun,
  exitCodeOf,
  firstLine,
  wantedDiffs,
  withEditedInput,
} from '../call/call-text.logic.ts'
import { KindIcon } from '../call/kind-icon.tsx'
import { LazyCallDetail } from '../call/lazy-call-detail.tsx'
import { RequestOutcome } from '../call/request-outcome.tsx'
import { DiffsCount } from '../parts/diff/diff-view.tsx'
import { FileIconLink } from '../parts/file-link.tsx'
import { useAwaited } from '../session-data/awaited.ts'
import type { CallNode } from './nodes.logic.ts'
import { useOpenCall } from './open-blocks.ts'
import { RowButton } from './row-button.tsx'

type Call = BlockOf<'tool-call'>
type Props = {
  node: CallNode
  open: boolean
  folder: string
  onToggle: (key: string, open: boolean) => void
}

/** A call on one line, or with its details if expanded. */
export const CallRow = memo(function CallRow({ node, open, folder, onToggle }: Props) {
  const { block: call, request } = node
  const { verb, about } = labelOf(node, folder)
  return (
    <div>
      <div className="group/call flex items-center [&>button]:min-w-0">
        <RowButton
          open={open}
          className={call.status === 'failed' ? 'text-bad' : 'text-soft'}
          onClick={() => onToggle(node.key, !open)}
        >
          <KindIcon kind={call.kind} />
          <span className="shrink-0 font-medium">{visible(verb)}</span>
          <span
            className={`min-w-0 truncate text-ink ${call.kind === 'execute' || call.kind === 'search' ? 'font-mono text-code' : ''} ${call.status === 'denied' || call.status === 'cancelled' ? 'opacity-75' : ''}`}
          >
            {visible(about)}
          </span>
          <CallMeta
            call={call}
            steps={node.children.length}
            asked={request !== undefined && !request.resolution}
            waited={node.waited}
          />
        </RowButton>
        <FileOfCall call={call} />
      </div>
      {request?.type === 'permission' && <RequestOutcome block={request} />}
      {open && (
        <div className="ml-3 border-l border-line pl-3.5">
          <LiveDetail
            call={withEditedInput(call, request)}
            diffs={wantedDiffs(call, request)}
            folder={folder}
          />
        </div>
      )}
      {!open && call.status === 'failed' && (
        <p className="truncate pl-8 text-xs text-bad">{visible(firstLine(call.content))}</p>
      )}
    </div>
  )
})

/**
 * Links to the file that a call names. The link is outside the line of the call, because that line is a
 * button.
 */
function FileOfCall({ call: { locations } }: { call: Call }) {
  const [location, ...others] = locations ?? []
  if (!location || others.some(({ path }) => path !== location.path)) return null
  return (
    <FileIconLink
      to={location}
      className="pointer-fine:opacity-0 focus-visible:opacity-100 group-hover/call:opacity-100"
    />
  )
}

function LiveDetail({ call, diffs, folder }: { call: Call; diffs: readonly Diff[]; folder: string }) {
  return <LazyCallDetail call={call} diffs={diffs} live={useOpenCall(call.id)} folder={folder} />
}

function labelOf({ block, request }: CallNode, folder: string): ReturnType<typeof callLabel> {
  const { verb, about } = callLabel({ ...block, title: commandRun(request) ?? block.title })
  return { verb, about: relativePath(about, folder).split('\n', 1)[0] ?? '' }
}

type MetaProps = { call: Call; steps: number; asked: boolean; waited: number }

function CallMeta({ call, steps, asked, waited }: MetaProps) {
  const exitCode = exitCodeOf(call.content)
  const diffs = call.content.filter((part) => part.type === 'diff')
  return (
    <span className="ml-auto flex shrink-0 items-center gap-2 pl-2 text-xs text-faint tabular-nums">
      {call.kind === 'subagent' && steps > 0 && <span>{plural(steps, 'step')}</span>}
      <DiffsCount diffs={diffs} />
      {exitCode !== undefined && exitCode !== 0 && <span className="text-bad">exit {exitCode}</span>}
      {call.status === 'failed' && exitCode === undefined && <span className="text-bad">failed</span>}
      {call.status === 'denied' && <span className="text-wait">denied</span>}
      {call.status === 'cancelled' && <span>stopped</span>}
      {call.status === 'running' && !asked && <Running since={call.at + waited} />}
      {call.status !== 'running' && <Took call={call} waited={waited} />}
    </span>
  )
}

function Took({ call, waited }: { call: Call; waited: number }) {
  const ms = (call.endedAt ?? call.at) - call.at - waited
  return ms >= 1000 ? <span>{duration(ms)}</span> : null
}

/** Nothing is shown while the machine of the session is away: no call runs there. */
function Running({ since }: { since: number }) {
  const now = useNow()
  const awaited = useAwaited()
  if (awaited) return null
  const ms = now - since
  return (
    <span className="flex items-center gap-1.5 text-mark">
      {ms > 20_000 && duration(ms)}
      <LoaderCircle size={13} className="animate-spin" aria-hidden />
      <span className="sr-only">running</span>
    </span>
  )
}
