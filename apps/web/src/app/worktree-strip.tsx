import type { KnownWorktree } from '@parley/protocol'
import { GitBranch, LoaderCircle } from 'lucide-react'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { announce } from '../parts/announcer.tsx'
import { Button } from '../parts/button.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionState } from '../session-data/session-context.tsx'

/**
 * Shows the state of the session's worktree above the composer while the agent cannot use the worktree, or if
 * a step failed.
 */
export default function WorktreeStrip() {
  const worktree = useSessionState((state) => state.worktree)
  const phase = worktree?.phase
  useEffect(() => {
    if (phase && phase !== 'ready') announce(titles[phase])
  }, [phase])
  if (!worktree) return null
  if (worktree.phase === 'ready' && !worktree.failure)
    return worktree.submodules === undefined ? null : <EmptySubmodules count={worktree.submodules} />
  return (
    <section
      aria-label="Worktree"
      data-testid="worktree"
      className={`mb-2 shrink-0 rounded-xl border px-3.5 py-2.5 text-sm ${worktree.failure ? 'border-wait-line bg-wait-wash' : 'border-line bg-side'}`}
    >
      <State worktree={worktree} />
    </section>
  )
}

/** Offers to check out the submodules of the worktree. */
function EmptySubmodules({ count }: { count: number }) {
  const id = useSessionState((state) => state.id)
  const decides = useMay('decide')
  const [isSending, setSending] = useState(false)
  const [isHidden, setHidden] = useState(false)
  if (isHidden || !decides) return null
  const fill = () => {
    setSending(true)
    client
      .command(id, { type: 'worktree.fill' })
      .catch(toastError)
      .finally(() => setSending(false))
  }
  return (
    <section
      aria-label="Worktree"
      data-testid="worktree"
      className="mb-2 flex shrink-0 flex-wrap items-center gap-2 rounded-xl border border-line bg-side px-3.5 py-2 text-sm"
    >
      <p className="min-w-0 flex-1">
        {count === 1
          ? 'The folder of a submodule is empty.'
          : `The folders of ${count} submodules are empty.`}
      </p>
      <Button look="quiet" onClick={() => setHidden(true)}>
        Hide
      </Button>
      <Button disabled={isSending} onClick={fill} title="git submodule update --init, from their remotes">
        {isSending ? 'Filling…' : 'Fill submodules'}
      </Button>
    </section>
  )
}

const titles: Readonly<Record<KnownWorktree['phase'], string>> = {
  making: 'Making the worktree…',
  preparing: 'Preparing the worktree…',
  ready: 'The worktree could not be removed.',
  failed: 'The worktree could not be made or prepared.',
  removing: 'Removing the worktree…',
  removed: 'The worktree was removed.',
  restoring: 'Restoring the worktree…',
}

function State({ worktree }: { worktree: KnownWorktree }) {
  const { phase, branch, failure, removed, since } = worktree
  const isUnderWay = titles[phase].endsWith('…')
  const Icon = isUnderWay ? LoaderCircle : GitBranch
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
        <Icon
          size={15}
          aria-hidden
          className={`shrink-0 text-soft ${isUnderWay ? 'motion-safe:animate-spin' : ''}`}
        />
        <p className="min-w-0 flex-1 font-medium">
          {removed?.missing && phase === 'removed' ? 'The folder of the worktree is gone.' : titles[phase]}{' '}
          <span className="font-mono text-xs font-normal [overflow-wrap:anywhere] text-soft">
            {visible(branch)}
          </span>
          {isUnderWay && <Elapsed since={since} />}
        </p>
        <Actions worktree={worktree} />
      </div>
      {isUnderWay && phase !== 'removing' && (
        <p className="pt-1 text-xs text-soft">Prompts wait until the worktree is ready.</p>
      )}
      {phase === 'removed' && (
        <p className="pt-1 text-xs text-soft">
          This session can only be read. Restore the worktree to continue: its commits and changes are
          restored too.
        </p>
      )}
      {failure && <p className="pt-1 text-xs [overflow-wrap:anywhere]">{visible(failure.error.message)}</p>}
      {failure?.setup && (
        <ScrollRegion
          label="The end of the output"
          className="mt-1.5 max-h-40 overflow-auto rounded-md border border-line bg-page px-2.5 py-1.5 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {visible(`$ ${failure.setup.command}\n${failure.setup.tail}`)}
        </ScrollRegion>
      )}
    </>
  )
}

function Actions({ worktree: { phase, failure, saved } }: { worktree: KnownWorktree }) {
  const id = useSessionState((state) => state.id)
  const isOwn = useSessionState((state) => state.worktree?.of === undefined)
  const [prompts, decides] = [useMay('prompt'), useMay('decide')]
  const [isSending, setSending] = useState(false)
  const send = (command: Parameters<typeof client.command>[1]) => {
    setSending(true)
    client
      .command(id, command)
      .catch(toastError)
      .finally(() => setSending(false))
  }
  if (!prompts || !isOwn) return null
  if (phase === 'removed')
    return decides ? (
      <Button look="primary" disabled={isSending} onClick={() => send({ type: 'worktree.restore' })}>
        Restore worktree
      </Button>
    ) : null
  if (isEndable.has(phase) && decides)
    return (
      <Button
        disabled={isSending}
        onClick={() => send({ type: 'worktree.remove', branch: saved ? 'keep' : 'delete' })}
        title="Cancels this step and removes the folder. The folder can be restored"
      >
        Cancel
      </Button>
    )
  if (phase !== 'failed') return null
  return (
    <>
      {failure?.setup && (
        <Button
          disabled={isSending}
          onClick={() => send({ type: 'worktree.retry', setup: false })}
          title="Makes the worktree, but does not run the setup command"
        >
          Skip setup
        </Button>
      )}
      <Button look="primary" disabled={isSending} onClick={() => send({ type: 'worktree.retry' })}>
        Retry
      </Button>
    </>
  )
}

const isEndable: ReadonlySet<KnownWorktree['phase']> = new Set(['making', 'preparing'])

/** The running time of a step. Steps that take less than three seconds show none. */
function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.floor((now - since) / 1000)
  if (seconds < 3) return null
  const text = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`
  return <span className="pl-2 text-xs font-normal text-soft">{text}</span>
}
