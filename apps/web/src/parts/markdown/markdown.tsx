import type { Token, Tokens } from 'marked'
import { Fragment, memo, type ReactNode, useRef } from 'react'
import { visible } from '../../base/format.logic.ts'
import { CodeBlock } from '../code/code-block.tsx'
import { FileLink, useFilePlaces } from '../file-link.tsx'
import { pathOf, pathOfLink } from '../path-text.logic.ts'
import { ScrollRegion } from '../scroll-region.tsx'
import {
  chunksOf,
  decodeEntities,
  emptyMarkdown,
  inlineOf,
  isProse,
  languageOf,
  type MarkdownBlock,
  parseMarkdown,
  safeHref,
} from './blocks.logic.ts'

/** Markdown as React elements. HTML in an agent's text is never parsed; it is shown as text. */
export default function Markdown({ text, done }: { text: string; done: boolean }) {
  const state = useRef(emptyMarkdown)
  state.current = parseMarkdown(text, done, state.current)
  return (
    <div className="markdown">
      {state.current.blocks.map((block) => (
        <TopBlock key={block.at} block={block} done={done || block.closed} />
      ))}
    </div>
  )
}

const TopBlock = memo(
  function TopBlock({ block, done }: { block: MarkdownBlock; done: boolean }) {
    return <BlockToken token={block.token} done={done} depth={0} />
  },
  (one, other) => one.block === other.block && one.done === other.done,
)

const maxDepth = 24

function BlockToken({ token, done, depth }: { token: Token; done: boolean; depth: number }): ReactNode {
  if (depth > maxDepth) return <p>{token.raw}</p>
  switch (token.type) {
    case 'heading': {
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as 'h3'
      return (
        <Heading data-level={(token as Tokens.Heading).depth}>
          <Inline tokens={token.tokens} depth={depth} />
        </Heading>
      )
    }
    case 'paragraph':
      return (
        <p>
          <Inline tokens={token.tokens} depth={depth} />
        </p>
      )
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} depth={depth} /> : decodeEntities(token.text)
    case 'code':
      return <CodeBlock code={token.text} language={languageOf((token as Tokens.Code).lang)} done={done} />
    case 'blockquote':
      return (
        <blockquote>
          <Blocks tokens={token.tokens} done={done} depth={depth + 1} />
        </blockquote>
      )
    case 'list':
      return <List list={token as Tokens.List} done={done} depth={depth} />
    case 'table':
      return <Table table={token as Tokens.Table} depth={depth} />
    case 'long':
      return <LongText text={token.raw} />
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    default:
      return <p className="whitespace-pre-wrap">{token.raw}</p>
  }
}

/**
 * A long text in chunks, so that only the last chunk is rendered when the text grows. The chunks of a
 * paragraph flow as inline text.
 */
function LongText({ text }: { text: string }) {
  const prose = isProse(text)
  const Piece = prose ? Words : Chunk
  const pieces = chunksOf(text).map((chunk, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
    <Piece key={index} text={chunk} />
  ))
  return prose ? <p>{pieces}</p> : <div className="whitespace-pre-wrap">{pieces}</div>
}

const Words = memo(function Words({ text }: { text: string }) {
  return <Inline tokens={inlineOf(text)} depth={0} />
})

const Chunk = memo(function Chunk({ text }: { text: string }) {
  return <div className="[content-visibility:auto] [contain-intrinsic-size:auto_60rem]">{text}</div>
})

function Blocks({ tokens, done, depth }: { tokens: Token[] | undefined; done: boolean; depth: number }) {
  return (tokens ?? []).map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens are identified by their index
    <BlockToken key={index} token={token} done={done} depth={depth} />
  ))
}

function List({ list, done, depth }: { list: Tokens.List; done: boolean; depth: number }) {
  const items = list.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens are identified by their index
    <li key={index} data-task={item.task || undefined}>
      {item.task && (
        <input
          type="checkbox"
          checked={item.checked === true}
          disabled
          aria-label={item.checked ? 'done' : 'to do'}
        />
      )}
      <Blocks tokens={item.tokens.filter(({ type }) => type !== 'checkbox')} done={done} depth={depth + 1} />
    </li>
  ))
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  const cells = (row: Tokens.TableCell[], Cell: 'th' | 'td') =>
    row.map((cell, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: cells are identified by their index
      <Cell key={index} align={cell.align ?? undefined}>
        <Inline tokens={cell.tokens} depth={depth} />
      </Cell>
    ))
  return (
    <ScrollRegion className="table-scroll" label="Table">
      <table>
        <thead>
          <tr>{cells(table.header, 'th')}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are identified by their index
            <tr key={index}>{cells(row, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

function Inline({ tokens, depth }: { tokens: Token[] | undefined; depth: number }): ReactNode {
  return (tokens ?? []).map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens are identified by their index
    <Fragment key={index}>{inline(token, depth + 1)}</Fragment>
  ))
}

function inline(token: Token, depth: number): ReactNode {
  if (depth > maxDepth) return token.raw
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del': {
      const Mark = token.type as 'em'
      return (
        <Mark>
          <Inline tokens={token.tokens} depth={depth} />
        </Mark>
      )
    }
    case 'codespan':
      return <CodeSpan text={token.text} />
    case 'br':
      return <br />
    case 'link':
      return <OutsideLink link={token as Tokens.Link} depth={depth} />
    case 'image':
      return <span className="text-soft">[image: {token.text || token.href}]</span>
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} depth={depth} /> : decodeEntities(token.text)
    case 'escape':
      return token.text
    default:
      return token.raw
  }
}

/** A code span. If its text is a path, it links to the file. */
function CodeSpan({ text }: { text: string }) {
  const path = pathOf(text, useFilePlaces()?.folder ?? '')
  const code = <code>{visible(text)}</code>
  return path ? <FileLink to={path}>{code}</FileLink> : code
}

function OutsideLink({ link, depth }: { link: Tokens.Link; depth: number }) {
  const href = safeHref(link.href)
  const words = <Inline tokens={link.tokens} depth={depth} />
  const path = href === undefined ? pathOfLink(link.href) : undefined
  if (path) return <FileLink to={path}>{words}</FileLink>
  if (href === undefined) return <span title={link.href}>{words}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {words}
    </a>
  )
}
