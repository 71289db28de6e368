import type { FileChange } from '@parley/protocol'
import { Fragment, memo, type RefObject, startTransition, useEffect, useMemo, useRef, useState } from 'react'
import { useFocusBack } from '../base/focus.ts'
import { plural } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { highlight } from '../parts/code/highlight.ts'
import { languageOfFile } from '../parts/code/languages.ts'
import { type DiffLines, firstLines, type Hunk } from '../parts/diff/lines.logic.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { RemarkForm, useRemarkEditor } from '../remarks/remark-form.tsx'
import { linesText, type Place, placeOf, type Remark, samePlace } from '../remarks/remarks.logic.ts'
import { type Colours, coloursOf, type Side, sidesOf } from './colours.logic.ts'
import { HunkBar } from './hunk-bar.tsx'
import type { ShownPart } from './part-choice.tsx'
import { usePatchReader } from './patch-reader.ts'
import { SplitRows, StackedRows } from './patch-rows.tsx'
import { useLineChoice } from './use-line-choice.ts'
import { type Words, wordsOf } from './words.logic.ts'

const shownAtFirst = 300
const noRemarks: readonly Remark[] = []

type Props = { file: FileChange; part: ShownPart; lines: DiffLines; split: boolean }

/** The patch of one file, with remarks between its lines. */
export const PatchView = memo(function PatchView({ file, part, lines, split }: Props) {
  const { path } = file
  const [limit, setLimit] = useState(shownAtFirst)
  const isReview = usePatchReader() === undefined
  const { editing, ...written } = useRemarkEditor(path)
  const editor = isReview ? written : { ...written, remarks: noRemarks }
  const total = lines.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  const hunks = useMemo(() => firstLines(lines.hunks, limit), [lines, limit])
  const place = useRef<HTMLDivElement>(null)
  const inView = useWasInView(place)
  const colours = useColours(path, hunks, inView)
  const words = useWords(hunks, inView)
  const { choice, onChoose, onCancel, handlers } = useLineChoice({ hunks, place, onEdit: editor.onEdit })
  const rows = { path, editing, ...editor, split, colours, words, choice, onChoose }
  const lastRow = useLastRow(place)
  useFocusBack(editing !== undefined, lastRow)
  const isShown = (place: Place) =>
    hunks.some((hunk) => hunk.lines.some((line) => samePlace(placeOf(line, path), place)))
  return (
    <>
      <ScrollRegion
        ref={place}
        className="diff @container max-h-none"
        label={`Changes to ${path}`}
        // Without remarks, no lines are chosen.
        {...(isReview ? handlers : { onKeyDown: handlers.onKeyDown })}
      >
        <table className={split ? 'w-full table-fixed' : ''}>
          {split && (
            <colgroup>
              <col className="w-11" />
              <col className="w-4" />
              <col />
              <col className="w-11" />
              <col className="w-4" />
              <col />
            </colgroup>
          )}
          <tbody>
            {hunks.map((hunk, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: hunks are identified by their index
              <Fragment key={index}>
                {(part || lines.hunks.length > 1) && (
                  <HunkBar file={file} part={part} hunk={lines.hunks[index] ?? hunk} at={index} />
                )}
                {split ? (
                  <SplitRows hunk={hunk} at={index} {...rows} />
                ) : (
                  <StackedRows hunk={hunk} at={index} {...rows} />
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {choice?.open && (
        <p
          role="status"
          className="sticky bottom-0 z-10 flex items-center gap-2 border-t border-line bg-card px-3 py-1 text-xs"
        >
          <span className="flex-1">Tap the number of the last line.</span>
          <Button look="quiet" onClick={onCancel}>
            Cancel
          </Button>
        </p>
      )}
      {editing && !isShown(editing) && (
        <div className="border-t border-line px-3 py-2">
          <p className="pb-1 text-xs text-soft">Remark on {linesText(editing)} (no longer in the changes):</p>
          <RemarkForm editing={editing} {...editor} />
        </div>
      )}
      {total > limit && (
        <button
          type="button"
          className="w-full border-t border-line px-3 py-1.5 text-left text-xs font-medium text-mark hover:bg-hover pointer-coarse:min-h-11"
          onClick={() => setLimit(limit + 2000)}
        >
          {plural(total - limit, 'more line')}
        </button>
      )}
    </>
  )
})

/**
 * The time that lines must be in view before they are highlighted, so that scrolling past does not occupy the worker.
 */
const lingerMs = 150

/** The tokens of the lines, computed by the worker once the lines are in view. They do not change the layout. */
function useColours(path: string, hunks: readonly Hunk[], inView: boolean): Colours | undefined {
  const [colours, setColours] = useState<Colours>()
  const language = languageOfFile(path)
  useEffect(() => {
    if (!language || !inView) return
    let wanted = true
    const sides = sidesOf(hunks)
    const tokens = ({ code }: Side) => (code === '' ? undefined : highlight(code, language))
    void Promise.all([tokens(sides.after), tokens(sides.before)]).then(([after, before]) => {
      const found = coloursOf(sides, { after, before })
      if (wanted && found) startTransition(() => setColours(found))
    })
    return () => {
      wanted = false
    }
  }, [hunks, language, inView])
  return colours
}

/** The changed words of the lines, compared once the lines are in view. They do not change the layout. */
function useWords(hunks: readonly Hunk[], inView: boolean): Words | undefined {
  const [words, setWords] = useState<Words>()
  useEffect(() => {
    if (inView) startTransition(() => setWords(wordsOf(hunks)))
  }, [hunks, inView])
  return words
}

/** Returns the row that last had the focus. It gets the focus again when the form of a remark closes. */
function useLastRow(place: RefObject<HTMLElement | null>): () => HTMLElement | null | undefined {
  const last = useRef<string>(undefined)
  useEffect(() => {
    const remember = ({ target }: FocusEvent) => {
      const row = target instanceof Element && target.closest('tr[data-at]')
      if (row) last.current = row.getAttribute('data-at') ?? undefined
    }
    const element = place.current
    element?.addEventListener('focusin', remember)
    return () => element?.removeEventListener('focusin', remember)
  }, [place])
  return () =>
    last.current === undefined
      ? place.current?.closest('section')?.querySelector<HTMLElement>('h3 button')
      : place.current?.querySelector<HTMLElement>(`tr[data-at="${last.current}"]`)
}

function useWasInView(place: RefObject<HTMLElement | null>): boolean {
  const [inView, setInView] = useState(false)
  useEffect(() => {
    if (!place.current) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new IntersectionObserver((entries) => {
      clearTimeout(timer)
      if (entries.at(-1)?.isIntersecting) timer = setTimeout(() => setInView(true), lingerMs)
    })
    observer.observe(place.current)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [place])
  return inView
}
