import type { BlockOf, OpenToolCall, ToolContent } from '@parley/protocol'
import { TerminalText } from '../code/terminal-text.tsx'
import { DiffView } from '../diff/diff-view.tsx'
import { LazyMarkdown } from '../markdown/lazy-markdown.tsx'
import { visible } from '../page/words.logic.ts'
import { LongText } from '../parts/long-text.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { asJson, commandOf, planOf } from './call-words.logic.ts'
import { Picture } from './picture.tsx'

type Call = BlockOf<'tool-call'>

/** What an opened call shows: the command or input in full, then what came of it. */
export function CallDetail({
  call,
  live,
  folder,
}: {
  call: Call
  live?: OpenToolCall | undefined
  folder: string
}) {
  const output = live?.output ?? ''
  return (
    <div className="flex flex-col gap-2 pt-1 pb-2">
      <CallInput call={call} />
      {call.status === 'running' && output !== '' && <TerminalText output={output} label="Output so far" />}
      {call.content.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place
        <ContentView key={index} part={part} folder={folder} call={call} />
      ))}
      {call.status !== 'running' && call.content.length === 0 && (
        <p className="text-xs text-faint">It gave nothing back.</p>
      )}
    </div>
  )
}

function CallInput({ call }: { call: Call }) {
  const command = commandOf(call.input)
  if (command !== undefined && call.kind === 'execute') {
    return command === call.title ? null : <CommandText command={command} />
  }
  if (call.kind === 'plan') {
    const plan = planOf(call.input)
    return plan === undefined ? null : <LazyMarkdown text={plan} />
  }
  if (call.kind === 'edit' && call.content.some((part) => part.type === 'diff')) return null
  if (call.kind === 'read' || isEmpty(call.input)) return null
  return (
    <details className="text-xs">
      <summary className="w-fit rounded text-soft hover:text-ink">Input</summary>
      <div className="pt-1">
        <TerminalText output={asJson(call.input)} label="Input" />
      </div>
    </details>
  )
}

/** A command as it will run, nothing hidden in it. */
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

function isEmpty(input: unknown): boolean {
  return (
    input === undefined || input === null || (typeof input === 'object' && Object.keys(input).length === 0)
  )
}

function ContentView({ part, folder, call }: { part: ToolContent; folder: string; call: Call }) {
  switch (part.type) {
    case 'text':
      return call.kind === 'subagent' ? (
        <LazyMarkdown text={part.text} />
      ) : (
        <TerminalText output={part.text} label="Result" />
      )
    case 'terminal':
      return <TerminalText output={part.output} label="Output" />
    case 'diff':
      return <DiffView diff={part} folder={folder} />
    case 'image':
      return <Picture mimeType={part.mimeType} data={part.data} name={call.title} />
    case 'resource':
      return (
        <div>
          <p className="font-mono text-xs [overflow-wrap:anywhere] text-soft">{visible(part.uri)}</p>
          {part.text !== undefined && <TerminalText output={part.text} label={part.uri} />}
        </div>
      )
  }
}
