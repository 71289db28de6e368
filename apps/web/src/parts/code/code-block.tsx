import { memo, type ReactNode, useEffect, useState } from 'react'
import { visible } from '../../base/format.logic.ts'
import { CopyButton } from '../copy-button.tsx'
import { ScrollRegion } from '../scroll-region.tsx'
import { highlight, highlighted } from './highlight.ts'
import type { TokenLines } from './highlight.worker.ts'
import { languageNamed } from './languages.ts'

type Props = { code: string; language: string; done: boolean }

/**
 * Code that is shown plain until it is complete, and then highlighted without a layout change. Hidden characters are
 * made visible.
 */
export const CodeBlock = memo(function CodeBlock({ code, language, done }: Props) {
  return (
    <figure className="code group relative">
      <figcaption className="flex h-7 items-center justify-between pointer-coarse:h-11 pr-1 pl-3 text-xs text-faint">
        {language || 'text'}
        <CopyButton text={() => code} label="Copy code" className="pointer-fine:size-6!" />
      </figcaption>
      <ScrollRegion label={language ? `Code, ${language}` : 'Code'} className="overflow-x-auto">
        <pre>
          <Coloured code={visible(code)} language={language} done={done} />
        </pre>
      </ScrollRegion>
    </figure>
  )
})

function Coloured({ code, language, done }: { code: string; language: string; done: boolean }) {
  const known = languageNamed(language)
  const [lines, setLines] = useState<TokenLines | undefined>(() =>
    known && done ? highlighted(code, known) : undefined,
  )
  useEffect(() => {
    if (!known || !done) return
    let wanted = true
    void highlight(code, known).then((fresh) => wanted && setLines(fresh))
    return () => {
      wanted = false
    }
  }, [code, known, done])
  if (!lines || !done) return <code>{code}</code>
  return (
    <code>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by their index
        <span key={index}>
          {tokenSpans(line)}
          {index < lines.length - 1 ? '\n' : ''}
        </span>
      ))}
    </code>
  )
}

export function tokenSpans(tokens: TokenLines[number]): ReactNode {
  return tokens.map(([content, kind], place) =>
    kind === '' || kind === 'foreground' ? (
      content
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: tokens are identified by their index
      <span key={place} className={`tok-${kind}`}>
        {content}
      </span>
    ),
  )
}
