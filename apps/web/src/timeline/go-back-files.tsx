import type { RewindPreview } from '@parley/protocol'
import { plural, visible } from '../base/format.logic.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { canRestore, fileText, noFilesText } from './go-back.logic.ts'

type Props = {
  preview: RewindPreview
  ticked: ReadonlySet<string>
  disabled: boolean
  onTick: (ticked: ReadonlySet<string>) => void
}

/** The files that a rewind can restore, each with a tick. */
export function GoBackFiles({ preview, ticked, disabled, onTick }: Props) {
  const { files } = preview
  const tick = (path: string, isTicked: boolean) => {
    const next = new Set(ticked)
    if (isTicked) next.add(path)
    else next.delete(path)
    onTick(next)
  }
  if (files.length === 0) return <p className="pl-6 text-soft">{noFilesText(preview)}</p>
  const isAnyLeft = files.some(({ left }) => left !== undefined)
  return (
    <div className={`pl-6 ${disabled ? 'opacity-60' : ''}`}>
      <p className="pb-1 text-soft">
        {ticked.size} of {plural(files.length, 'file')}
        {isAnyLeft && '. A file that somebody else changed since is restored only if you tick it'}
      </p>
      <ScrollRegion label="Files" className="max-h-52 overflow-y-auto rounded-md bg-sunk px-1 py-1">
        <ul>
          {files.map((file) => (
            <li key={file.path}>
              <label className="flex min-h-7 items-baseline gap-2 rounded px-1.5 py-0.5 hover:bg-hover pointer-coarse:min-h-11 pointer-coarse:items-center">
                <input
                  type="checkbox"
                  className="translate-y-0.5 accent-mark-fill"
                  disabled={disabled || !canRestore(file)}
                  checked={ticked.has(file.path)}
                  onChange={(event) => tick(file.path, event.target.checked)}
                />
                <span className="min-w-0 flex-1 text-xs [overflow-wrap:anywhere]">{visible(file.path)}</span>
                <span className={`shrink-0 text-xs ${file.left ? 'text-wait' : 'text-soft'}`}>
                  {fileText(file)}
                </span>
              </label>
            </li>
          ))}
        </ul>
      </ScrollRegion>
    </div>
  )
}
