import type { WorktreeOffer } from '@parley/protocol'
import { GitBranch } from 'lucide-react'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { bytes as bytesText, plural, visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import type { ChosenWorktree } from './make-session.ts'

type Props = {
  cwd: string
  chosen: ChosenWorktree | undefined
  /** True if the session must have a worktree. */
  isNeeded: boolean
  onChoose: (worktree: ChosenWorktree | undefined) => void
  onOffer: (offer: WorktreeOffer | undefined) => void
}

/** Offers a worktree for the new session, if worktrees can be made of the folder's repository. */
export default function WorktreeChoice({ cwd, chosen, isNeeded, onChoose, onOffer }: Props) {
  const reads = useMay('read')
  const offer = useOffer(cwd, reads)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another folder has other branches and files
  useEffect(() => onChoose(undefined), [cwd])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the page keeps what was offered last
  useEffect(() => onOffer(offer), [offer])
  const isMissing = isNeeded && chosen === undefined && offer !== undefined && !offer.refused
  // biome-ignore lint/correctness/useExhaustiveDependencies: chosen once when it is needed
  useEffect(() => {
    if (isMissing) onChoose({ copy: preselected(offer) })
  }, [isMissing])
  if (!offer || offer.refused) return null
  return (
    <fieldset className="px-1 pt-1 text-xs text-soft">
      <legend className="sr-only">Worktree</legend>
      <label
        className={`flex min-h-6 items-center gap-1.5 pointer-coarse:min-h-11 ${isNeeded ? 'hidden' : ''}`}
      >
        <input
          type="checkbox"
          checked={chosen !== undefined}
          onChange={({ target }) => onChoose(target.checked ? { copy: preselected(offer) } : undefined)}
          className="accent-mark-fill"
        />
        <GitBranch size={13} aria-hidden className="shrink-0" />
        Work in a new worktree, on a branch of its own
      </label>
      {chosen && <Details offer={offer} chosen={chosen} onChoose={onChoose} />}
    </fieldset>
  )
}

const preselected = ({ copy }: WorktreeOffer) => copy.flatMap(({ path, chosen }) => (chosen ? [path] : []))

function Details({
  offer,
  chosen,
  onChoose,
}: {
  offer: WorktreeOffer
  chosen: ChosenWorktree
  onChoose: Props['onChoose']
}) {
  const { base = '', copy } = chosen
  const isRemote = offer.remotes.includes(base)
  return (
    <div className="mt-1 grid gap-1.5 rounded-lg border border-line px-3 py-2">
      <label className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium">Start from</span>
        <select
          value={base}
          onChange={({ target }) => onChoose({ ...chosen, base: target.value })}
          className="h-7 max-w-64 min-w-0 rounded-md border border-field bg-page px-1 text-ink pointer-coarse:h-11"
        >
          <option value="">
            {offer.head === undefined ? 'the checked-out commit' : `${visible(offer.head)} (checked out)`}
          </option>
          <Branches label="Branches" names={offer.branches.filter((name) => name !== offer.head)} />
          <Branches label="Remote branches" names={offer.remotes} />
        </select>
      </label>
      {isRemote ? (
        <p>
          A stranger may have written a remote branch. The worktree is therefore not trusted and gets no
          ignored files, and the setup command does not run.
        </p>
      ) : (
        <Files offer={offer} copy={copy} onCopy={(next) => onChoose({ ...chosen, copy: next })} />
      )}
      <Notes offer={offer} isRemote={isRemote} />
    </div>
  )
}

function Branches({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <optgroup label={label}>
      {names.map((name) => (
        <option key={name} value={name}>
          {visible(name)}
        </option>
      ))}
    </optgroup>
  )
}

/** The ignored files that can be copied, such as `.env`. */
function Files({
  offer,
  copy,
  onCopy,
}: {
  offer: WorktreeOffer
  copy: readonly string[]
  onCopy: (copy: string[]) => void
}) {
  if (offer.copy.length === 0) return null
  return (
    <fieldset>
      <legend className="font-medium">Copy files that git ignores</legend>
      <ul className="max-h-32 overflow-y-auto">
        {offer.copy.map(({ path, bytes }) => (
          <li key={path}>
            <label className="flex min-h-6 items-center gap-1.5 pointer-coarse:min-h-11">
              <input
                type="checkbox"
                checked={copy.includes(path)}
                onChange={({ target }) =>
                  onCopy(target.checked ? [...copy, path] : copy.filter((one) => one !== path))
                }
                className="accent-mark-fill"
              />
              <span className="min-w-0 truncate font-mono text-ink">{visible(path)}</span>
              <span className="shrink-0 text-faint">{bytesText(bytes)}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  )
}

function Notes({ offer, isRemote }: { offer: WorktreeOffer; isRemote: boolean }) {
  const { changes, setup, submodules } = offer
  const stay = `${plural(changes, 'change')} that ${changes === 1 ? 'is not committed stays' : 'are not committed stay'}`
  const notes = [
    changes > 0 && `${stay} in the folder.`,
    setup &&
      !isRemote &&
      'The setup command of the project runs first. Your prompt waits until it has ended.',
    submodules && 'The folders of submodules are empty.',
  ].filter((note) => note !== false)
  return notes.map((note) => <p key={note}>{note}</p>)
}

const settledMs = 300

/**
 * The branches and files of the repository; undefined while they are loading, or if the folder cannot be
 * read.
 */
function useOffer(cwd: string, wanted: boolean): WorktreeOffer | undefined {
  const [found, setFound] = useState<{ cwd: string; offer: WorktreeOffer }>()
  useEffect(() => {
    if (!wanted) return
    return abortable((signal) => {
      const timer = setTimeout(() => {
        client.call('offerWorktree', { query: { cwd }, signal }).then(
          (offer) => signal.aborted || setFound({ cwd, offer }),
          // The folder field reports problems with the folder.
          () => undefined,
        )
      }, settledMs)
      signal.addEventListener('abort', () => clearTimeout(timer))
    })
  }, [cwd, wanted])
  return found?.cwd === cwd ? found.offer : undefined
}
