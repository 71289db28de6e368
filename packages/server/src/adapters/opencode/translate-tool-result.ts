import type { ToolPart } from '@opencode-ai/sdk/v2/client'
import type { Diff, ToolContent, ToolOutcome } from '@parley/protocol'
import type { NativeChangedFile, NativeMetadata } from './native.ts'
import type { Call } from './translate-state.ts'

type About = Pick<Call, 'denied' | 'patch'> & { readonly interrupting: boolean }

export function resultOf(part: ToolPart, about: About): { outcome: ToolOutcome; content: ToolContent[] } {
  const { state } = part
  if (state.status === 'error') {
    const cut = about.interrupting || (state.metadata as NativeMetadata | undefined)?.interrupted
    const outcome = about.denied ? 'denied' : cut ? 'cancelled' : 'failed'
    return { outcome, content: text(state.error) }
  }
  if (state.status !== 'completed') return { outcome: 'failed', content: [] }
  const metadata: NativeMetadata = state.metadata ?? {}
  return {
    outcome: part.tool === 'bash' ? outcomeOfCommand(metadata, about) : 'completed',
    content: [
      ...contentOf(part.tool, state.input, { output: state.output, metadata, patch: about.patch }),
      ...(state.attachments ?? []).map(attachment),
    ],
  }
}

/**
 * The outcome of a command. If its exit code is null, the command was interrupted by a person or timed out.
 */
function outcomeOfCommand({ exit }: NativeMetadata, { interrupting }: About): ToolOutcome {
  if (exit === 0 || exit === undefined) return 'completed'
  return exit === null && interrupting ? 'cancelled' : 'failed'
}

type Given = {
  readonly output: string
  readonly metadata: NativeMetadata
  readonly patch: string | undefined
}

function contentOf(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  { output, metadata, patch }: Given,
): ToolContent[] {
  switch (tool) {
    case 'bash': {
      const exitCode = metadata.exit === undefined ? {} : { exitCode: metadata.exit }
      return [{ type: 'terminal', output: metadata.output ?? output, ...exitCode }]
    }
    case 'edit': {
      const changed = metadata.filediff?.patch ?? metadata.diff
      return changed === undefined
        ? text(output)
        : [{ type: 'diff', path: metadata.filediff?.file ?? String(input.filePath), patch: changed }]
    }
    case 'write':
      return written(input, { output, metadata, patch })
    case 'apply_patch': {
      const files = metadata.files ?? []
      return files.length === 0 ? text(output) : files.map((file) => ({ type: 'diff', ...diffOfFile(file) }))
    }
    case 'task':
      return text(/<task_(?:result|error)>\n([\s\S]*)\n<\/task_(?:result|error)>/.exec(output)?.[1] ?? output)
    default:
      return text(output)
  }
}

/**
 * The content of a call that wrote a file: a new file as its whole text, an existing file as the change that was
 * requested.
 */
function written(
  input: Readonly<Record<string, unknown>>,
  { output, metadata, patch }: Given,
): ToolContent[] {
  const path = metadata.filepath ?? String(input.filePath)
  if (metadata.exists === false && typeof input.content === 'string') {
    return [{ type: 'diff', path, before: null, after: input.content }]
  }
  return patch === undefined ? text(output) : [{ type: 'diff', path, patch }]
}

const dataUrl = /^data:([^;,]+)[^,]*;base64,(.*)$/s

function attachment({ mime, url, filename }: { mime: string; url: string; filename?: string }): ToolContent {
  const data = dataUrl.exec(url)?.[2]
  if (mime.startsWith('image/') && data !== undefined) return { type: 'image', mimeType: mime, data }
  return { type: 'resource', uri: data === undefined ? url : (filename ?? 'attachment'), mimeType: mime }
}

function text(words: string): ToolContent[] {
  return words === '' ? [] : [{ type: 'text', text: words }]
}

/**
 * The changes in the metadata of a request. A patch of several files lists each file in `files`; `diff` contains all
 * changes in one text.
 */
export function diffsIn(metadata: NativeMetadata): { diffs?: Diff[] } {
  const { files, diff, filepath } = metadata
  if (Array.isArray(files) && files.length > 0) return { diffs: files.map(diffOfFile) }
  if (typeof diff !== 'string' || typeof filepath !== 'string') return {}
  return { diffs: [{ path: filepath, patch: diff }] }
}

function diffOfFile({ filePath = '', movePath, type, patch }: NativeChangedFile): Diff {
  return {
    path: movePath ?? filePath,
    ...(movePath !== undefined && { movedFrom: filePath }),
    ...(type === 'delete' && { after: null }),
    ...(patch !== undefined && { patch }),
  }
}
