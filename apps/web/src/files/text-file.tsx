import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { preferences } from '../base/preferences.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { replaceRoute } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { type CodeList, CodeView } from './code-view.tsx'
import { FindInFile } from './find-in-file.tsx'
import { codeText, matchesIn } from './rows.logic.ts'

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
      <CodeView code={code} route={route} wrap={wrap} found={found} now={now} query={wanted} list={list} />
    </>
  )
}
