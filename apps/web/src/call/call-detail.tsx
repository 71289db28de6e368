import type { BlockOf, Diff, OpenToolCall, ToolContent } from '@parley/protocol'
import { useMatchesFind } from '../base/find-text.ts'
import { relativePath, visible } from '../base/format.logic.ts'
import { TerminalText } from '../parts/code/terminal-text.tsx'
import { DiffList, DiffView } from '../parts/diff/diff-view.tsx'
import { FileLink } from '../parts/file-link.tsx'
import { LongText } from '../parts/long-text.tsx'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { asJson, inputOf } from './call-text.logic.ts'
import { Picture } from './picture.tsx'

type Call = BlockOf<'tool-call'>

type Props = {
  call: Call
  /** The requested changes, if the result does not show them. */
  diffs: readonly Diff[]
  live?: OpenToolCall | undefined
  folder: string
}

/** The content of an expanded call: the whole command or input, then the result. */
function CallDetail({ call, diffs, live, folder }: Props) {
  const output = live?.output ?? ''
  return (
    <div className="flex flex-col gap-2 pt-1 pb-2">
      <Locations call={call} diffs={diffs} folder={folder} />
      <CallInput call={call} diffs={diffs} />
      <DiffList diffs={diffs} folder={folder} />
      {call.status === 'running' && output !== '' && <TerminalText output={output} label="Output so far" />}
      {call.status === 'failed' && call.content.length > 0 && (
        <p className="text-xs font-medium text-bad">Error</p>
      )}
      {/* A search marks the found words of the result inside this element. */}
      <div data-result className="contents">
        {call.content.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are identified by their index
          <ContentView key={index} part={part} folder={folder} call={call} />
        ))}
      </div>
      {call.status !== 'running' && call.content.length === 0 && (
        <p className="text-xs text-faint">No output</p>
      )}
    </div>
  )
}

/** The files that the call names, except those whose changes are shown. */
function Locations({ call, diffs, folder }: { call: Call; diffs: readonly Diff[]; folder: string }) {
  const changed = new Set([...diffs, ...call.content].map((part) => ('path' in part ? part.path : undefined)))
  const paths = new Map(call.locations?.map((location) => [location.path, location]))
  const named = [...paths.values()].filter(({ path }) => !changed.has(path))
  if (named.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-x-3 text-xs [overflow-wrap:anywhere] text-soft">
      {named.map((location) => (
        <li key={location.path}>
          <FileLink to={location}>{visible(relativePath(location.path, folder))}</FileLink>
        </li>
      ))}
    </ul>
  )
}

function CallInput({ call, diffs }: { call: Call; diffs: readonly Diff[] }) {
  const input = inputOf(call, diffs)
  if (!input) return null
  if (input.type === 'command') return <CommandText command={input.text} />
  if (input.type === 'plan') return <LazyMarkdown text={input.text} />
  return <JsonInput json={asJson(call.input)} />
}

function JsonInput({ json }: { json: string }) {
  const isWanted = useMatchesFind(json)
  return (
    <details className="text-xs" open={isWanted}>
      <summary className="w-fit rounded text-soft hover:text-ink pointer-coarse:py-3.5">Input</summary>
      <div className="pt-1">
        <TerminalText output={json} label="Input" />
      </div>
    </details>
  )
}

/** A command as it will run, with hidden characters made visible. */
export function CommandText({ command }: { command: string }) {
  return (
    <ScrollRegion label="Command" className="max-h-72 overflow-y-auto rounded-md bg-sunk">
      <pre className="terminal px-2.5 py-2">
        <span className="text-faint select-none">$ </span>
        <LongText text={visible(command)} />
      </pre>
    </ScrollRegion>
  )
}

function ContentView({ part, folder, call }: { part: ToolContent; folder: string; call: Call }) {
  switch (part.type) {
    case 'text':
      return call.kind === 'subagent' ? (
        <LazyMarkdown text={part.text} />
      ) : (
        <TerminalText output={part.text} label={call.status === 'failed' ? 'Error' : 'Result'} />
      )
    case 'terminal':
      return (
        <div>
          <TerminalText output={part.output} label="Output" />
          {typeof part.exitCode === 'number' && (
            <p className={`pt-1 text-xs ${part.exitCode === 0 ? 'text-faint' : 'text-bad'}`}>
              Exit code {part.exitCode}
            </p>
          )}
        </div>
      )
    case 'diff':
      return <DiffView diff={part} folder={folder} />
    case 'image':
      return <Picture mimeType={part.mimeType} data={part.data} name={call.title} />
    case 'resource':
      return (
        <div>
          <p className="text-xs [overflow-wrap:anywhere] text-soft">{visible(part.uri)}</p>
          {part.text !== undefined && <TerminalText output={part.text} label={part.uri} />}
        </div>
      )
  }
}

export default { CallDetail, TerminalText }
