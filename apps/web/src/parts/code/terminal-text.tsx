import { memo, useState } from 'react'
import { findText } from '../../base/find-text.ts'
import { amount } from '../../base/format.logic.ts'
import { useStore } from '../../base/store.ts'
import { CopyButton } from '../copy-button.tsx'
import { TextWithPaths } from '../file-link.tsx'
import { ScrollRegion } from '../scroll-region.tsx'
import { fromPlaceOf, tailOf, terminalPieces } from './terminal-text.logic.ts'

const first = { lines: 40, characters: 20_000 }
const more = { lines: 2000, characters: 300_000 }

/** The output of a command. At first only its end is rendered, so that ten megabytes cost no more than a screenful. */
export const TerminalText = memo(function TerminalText({ output, label }: { output: string; label: string }) {
  const [all, setAll] = useState(false)
  const wanted = useStore(findText)
  const tail = tailOf(output, all ? more : first)
  const isAbove = wanted !== '' && output.slice(0, tail.left).toLowerCase().includes(wanted)
  const { shown, left } = isAbove ? fromPlaceOf(output, wanted, more) : tail
  if (output === '') return null
  return (
    <div className="group relative rounded-md bg-sunk">
      {left > 0 && (
        <div className="flex items-center gap-2 border-b border-line px-2.5 py-1 text-xs text-soft">
          {amount(left)} characters above
          {!all && (
            <button
              type="button"
              className="font-medium text-mark underline pointer-coarse:-my-1 pointer-coarse:min-h-11"
              onClick={() => setAll(true)}
            >
              Show more
            </button>
          )}
        </div>
      )}
      <ScrollRegion label={label} className="max-h-96 overflow-y-auto">
        <pre className="terminal px-2.5 py-2">
          {terminalPieces(shown).map((piece, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
            <span key={index} className={piece.look || undefined}>
              <TextWithPaths text={piece.text} />
            </span>
          ))}
        </pre>
      </ScrollRegion>
      <CopyButton
        text={() => output}
        label={`Copy ${label[0]?.toLowerCase()}${label.slice(1)}`}
        className="absolute! top-1 right-1 bg-sunk opacity-0 group-hover:opacity-100 focus-visible:opacity-100"
      />
    </div>
  )
})
