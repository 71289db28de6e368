import { useVirtualizer } from '@tanstack/react-virtual'
import {
  memo,
  type RefObject,
  startTransition,
  useEffect,
  useImperativeHandle,
  useRef,
  useState,
} from 'react'
import { amount, plural } from '../base/format.logic.ts'
import { addressOf, type SessionRoute } from '../base/route.logic.ts'
import { tokenSpans } from '../parts/code/code-block.tsx'
import { highlightLines } from '../parts/code/highlight.ts'
import type { TokenLines } from '../parts/code/highlight.worker.ts'
import { languageOfFile } from '../parts/code/languages.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import type { Remark } from '../remarks/remarks.logic.ts'
import { type CodeMatch, type CodeRow, type CodeText, maxRowLength, rowOfLine } from './rows.logic.ts'
import type { useFileLines } from './use-file-lines.ts'
import { useFileMarks } from './use-file-marks.ts'

/** The height of a row in pixels, as in files.css. */
const rowHeight = 20

export type CodeList = { showRow(index: number): void; focus(): void }

type Props = {
  code: CodeText
  route: SessionRoute & { readonly file: string }
  wrap: boolean
  found: readonly CodeMatch[]
  now: CodeMatch | undefined
  query: string
  list: RefObject<CodeList | null>
  lines: ReturnType<typeof useFileLines>
  remarks: readonly Remark[]
}

/** The lines of a file. Only those in view are rendered. */
export function CodeView({ code, route, wrap, found, now, query, list, lines, remarks }: Props) {
  const { rows } = code
  const scroller = useRef<HTMLDivElement>(null)
  const tokens = useTokens(code.lines, route.file)
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: wrapping changes the heights of all rows
  useEffect(() => virtualizer.measure(), [wrap, virtualizer])
  useImperativeHandle(list, () => ({
    showRow: (index) => virtualizer.scrollToIndex(index, { align: 'center' }),
    focus: () => scroller.current?.focus({ preventScroll: true }),
  }))
  useShowLine(route, rows, (index) => virtualizer.scrollToIndex(index, { align: 'center' }))
  useFileMarks(scroller, { found, now, length: query.length })
  const { range } = lines
  const isCurrent = (line: number) =>
    line === route.line || (range !== undefined && range.from <= line && line <= range.to)
  const isRemarked = (at: number) =>
    remarks.some(({ line, firstLine = line, side }) => side === 'after' && firstLine <= at && at <= line)
  const digits = String(rows.at(-1)?.line ?? 1).length
  return (
    <ScrollRegion
      ref={scroller}
      label={`Lines of ${route.file}`}
      className={`file-lines min-h-0 flex-1 overflow-auto ${wrap ? 'wraps' : ''}`}
      {...lines.handlers}
    >
      <div
        className="relative min-w-full"
        style={{
          height: virtualizer.getTotalSize(),
          ...(!wrap && { width: `calc(${code.columns + digits}ch + 4.5rem)` }),
        }}
      >
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index]
          if (!row) return null
          return (
            <div
              key={index}
              ref={wrap ? virtualizer.measureElement : undefined}
              data-index={index}
              className="row"
              data-current={isCurrent(row.line) || undefined}
              data-remarked={isRemarked(row.line) || undefined}
              style={{ transform: `translateY(${start}px)` }}
            >
              <LineNumber row={row} route={route} digits={digits} onNumber={lines.onNumber} />
              <RowText row={row} tokens={tokens?.[row.line - 1]} />
            </div>
          )
        })}
      </div>
      {code.left > 0 && (
        <p className="sticky left-0 px-4 py-2 font-sans text-sm text-soft">
          {plural(code.left, 'more line')} cannot be shown here.
        </p>
      )}
    </ScrollRegion>
  )
}

type LineNumberProps = {
  row: CodeRow
  route: Props['route']
  digits: number
  onNumber: Props['lines']['onNumber']
}

/** The number of a line, which links to the line. A click puts the line into the address. */
function LineNumber({ row, route, digits, onNumber }: LineNumberProps) {
  const to: SessionRoute = { ...route, line: row.line }
  if (row.from > 0)
    return (
      <span
        className="number"
        style={{ minWidth: `${digits}ch` }}
        title={`Line ${row.line}, from character ${amount(row.from)}`}
      />
    )
  return (
    <a
      href={addressOf(to)}
      tabIndex={-1}
      aria-label={`Line ${row.line}`}
      className="number"
      style={{ minWidth: `${digits}ch` }}
      data-line={row.line}
      onClick={(event) => onNumber(event, row.line)}
    >
      {row.line}
    </a>
  )
}

type RowTextProps = { row: CodeRow; tokens: TokenLines[number] | undefined }

const RowText = memo(function RowText({ row, tokens }: RowTextProps) {
  const isWhole = row.from === 0 && row.text.length < maxRowLength
  return <code>{isWhole && tokens ? tokenSpans(tokens) : row.text}</code>
})

/** The tokens of the lines from the top, as far as they are known. They do not change the layout. */
function useTokens(lines: readonly string[], path: string): TokenLines | undefined {
  const [known, setKnown] = useState<{ lines: readonly string[]; tokens: TokenLines }>()
  useEffect(() => {
    const language = languageOfFile(path)
    if (!language) return
    const controller = new AbortController()
    const onLines = (tokens: TokenLines) => startTransition(() => setKnown({ lines, tokens }))
    void highlightLines(lines, language, { signal: controller.signal, onLines })
    return () => controller.abort()
  }, [lines, path])
  return known?.lines === lines ? known.tokens : undefined
}

/** Shows the line of the address: once for each navigation, not when the file changes. */
function useShowLine(route: Props['route'], rows: readonly CodeRow[], show: (index: number) => void): void {
  const shown = useRef<SessionRoute>(undefined)
  useEffect(() => {
    if (shown.current === route || rows.length === 0) return
    shown.current = route
    if (route.line !== undefined) show(rowOfLine(rows, route.line))
  })
}
