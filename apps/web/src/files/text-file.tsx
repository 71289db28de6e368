import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { preferences } from '../base/preferences.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { replaceRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import type { DiffLine } from '../parts/diff/lines.logic.ts'
import { useRemarkEditor } from '../remarks/remark-form.tsx'
import type { Remark } from '../remarks/remarks.logic.ts'
import { type CodeList, CodeView } from './code-view.tsx'
import { FileRemarks } from './file-remarks.tsx'
import { FindInFile } from './find-in-file.tsx'
import { codeText, matchesIn } from './rows.logic.ts'
import { type LineRange, useFileLines } from './use-file-lines.ts'

type Props = {
  text: string
  route: SessionRoute & { readonly file: string }
  finding: boolean
  onFind: (open: boolean) => void
}

export function TextFile({ text, route, finding, onFind }: Props) {
  const wrap = useStore(preferences, (state) => state.wrapLines)
  const code = useMemo(() => codeText(text), [text])
  const list = useRef<CodeList>(null)
  const [query, setQuery] = useState('')
  const [place, setPlace] = useState(0)
  const wanted = useDeferredValue(finding && !query.startsWith(':') ? query : '')
  const found = useMemo(() => matchesIn(code.rows, wanted), [code, wanted])
  const index = found.length === 0 ? -1 : ((place % found.length) + found.length) % found.length
  const now = found[index]
  const row = now?.row
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each match that becomes the current one
  useEffect(() => {
    if (row !== undefined) list.current?.showRow(row)
  }, [row, place, wanted])
  const editor = useRemarkEditor(route.file)
  // A remark on an earlier version would name lines that are elsewhere by now.
  const enabled = useMay('prompt') && route.rev === undefined
  const onRemark = (range: LineRange) => editor.onEdit(linesOf(code.lines, range))
  const lines = useFileLines({ route, lines: code.lines.length, enabled, onRemark })
  const chosen = lines.range ?? (route.line === undefined ? undefined : { from: route.line, to: route.line })
  const thenFocus = <Args extends unknown[]>(act: (...args: Args) => void) => {
    return (...args: Args) => {
      act(...args)
      list.current?.focus()
    }
  }
  const close = () => {
    onFind(false)
    list.current?.focus()
  }
  return (
    <>
      {finding && (
        <FindInFile
          query={query}
          count={found.length}
          place={index}
          onQuery={(next) => {
            setQuery(next)
            setPlace(0)
          }}
          onStep={(by) => setPlace(index + by)}
          onLine={(line) => {
            replaceRoute({ ...route, line })
            close()
          }}
          onClose={close}
        />
      )}
      <CodeView
        {...{ code, route, wrap, found, now, list, lines }}
        query={wanted}
        remarks={enabled ? editor.remarks : none}
      />
      {enabled && (
        <FileRemarks
          editor={{ ...editor, onSave: thenFocus(editor.onSave), onCancel: thenFocus(editor.onCancel) }}
          range={chosen}
          onRemark={onRemark}
          onCancel={lines.onCancel}
        />
      )}
    </>
  )
}

const none: readonly Remark[] = []
const mostLines = 500

/** The chosen lines as lines of a diff; if there are very many, only the last ones. */
function linesOf(lines: readonly string[], { from, to }: LineRange): DiffLine[] {
  const first = Math.max(from, to - mostLines + 1)
  return lines.slice(first - 1, to).map((text, index) => {
    const number = first + index
    return { type: 'same', text, before: number, after: number }
  })
}
