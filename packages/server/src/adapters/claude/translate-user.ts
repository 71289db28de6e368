import type { AgentOutput } from '@parley/adapter-kit'
import { notice, sequence } from '@parley/adapter-kit/translation'
import { isRecord, type ToolContent, type ToolOutcome } from '@parley/protocol'
import type { NativeBlock, NativeResultMeta, NativeToolOutput, NativeUser, PatchHunk } from './native.ts'
import { compact } from './translate-session.ts'
import { type Call, callIdOf, parentOf, type TranslateState, type Translation } from './translate-state.ts'
import { planAfter } from './translate-task.ts'

/**
 * Translates a user message, which never comes from a person. It holds tool results, the summary of a compaction, or
 * the output of a command of the agent. Prompts (replayed, synthetic, of a subagent) are already known and give no
 * output.
 */
export function translateUser(state: TranslateState, message: NativeUser): Translation {
  const blocks = blocksOf(message)
  const summary = message.isSynthetic ? textOf(blocks) : undefined
  const results = message.isReplay
    ? []
    : blocks.filter(({ type, tool_use_id }) => type === 'tool_result' && tool_use_id)
  const structured = results.length === 1 ? message.tool_use_result : undefined
  const parent = parentOf(state, message.parent_tool_use_id)
  const ends = results.map((block) => {
    const meta = message.tool_result_meta?.find(({ id }) => id === block.tool_use_id)
    return (now: TranslateState) => endCall(now, block, { structured, parent, meta })
  })
  return sequence(
    state,
    (now) => compact.flush(now, summary),
    ...ends,
    (now) => ({ state: now, outputs: commandOutput(message, blocks) }),
  )
}

function blocksOf({ message }: NativeUser): readonly NativeBlock[] {
  const { content } = message
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function textOf(blocks: readonly NativeBlock[]): string {
  return blocks.map(({ text }) => text ?? '').join('')
}

const commandPattern = /^<local-command-(stdout|stderr)>([\s\S]*)<\/local-command-\1>$/

/** The output of a slash command as a notice. The agent wraps it in a tag. */
function commandOutput(message: NativeUser, blocks: readonly NativeBlock[]): AgentOutput[] {
  if (message.parent_tool_use_id) return []
  return blocks.flatMap(({ text }): AgentOutput[] => {
    const [, channel, words] = commandPattern.exec(text?.trim() ?? '') ?? []
    if (!words?.trim()) return []
    return [notice(channel === 'stderr' ? 'warning' : 'info', 'command-output', words.trim())]
  })
}

/** Ends a call with its result. `structured` is the tool's own output, if the agent sent it. */
export function endCall(
  state: TranslateState,
  block: NativeBlock,
  about: {
    structured?: unknown
    meta?: NativeResultMeta | undefined
    parent: { parentToolCallId?: string }
  },
): Translation {
  const nativeId = String(block.tool_use_id)
  const toolCallId = callIdOf(state, nativeId)
  const call = state.calls.get(toolCallId)
  const output: NativeToolOutput = isRecord(about.structured) ? about.structured : {}
  const outcome =
    block.is_error || output.interrupted ? failure(state, nativeId, about.meta, output) : 'completed'
  const ended: AgentOutput = {
    type: 'tool-call.ended',
    toolCallId,
    outcome,
    content: contentOf(call, block, output),
    ...about.parent,
  }
  const next = outcome === 'completed' && call ? planAfter(state, call, output, about.parent) : undefined
  return {
    state: withoutCall(next?.state ?? state, nativeId),
    outputs: [ended, ...(next?.outputs ?? [])],
  }
}

function failure(
  state: TranslateState,
  nativeId: string,
  meta: NativeResultMeta | undefined,
  output: NativeToolOutput,
): ToolOutcome {
  const refused = meta?.permission_decision?.decision === 'reject'
  if (refused || state.denied.has(nativeId) || state.denied.has(callIdOf(state, nativeId))) return 'denied'
  const stopped = output.interrupted || meta?.non_execution_kind === 'user-rejected'
  return stopped || state.interrupting ? 'cancelled' : 'failed'
}

function contentOf(call: Call | undefined, block: NativeBlock, output: NativeToolOutput): ToolContent[] {
  switch (call?.name) {
    case 'Bash':
      return terminalOf(block, output) ?? contentBlocks(block.content)
    case 'Edit':
    case 'MultiEdit':
    case 'Write':
      return output.filePath && output.structuredPatch
        ? [fileDiff(output.filePath, output.structuredPatch, output)]
        : contentBlocks(block.content)
    case 'NotebookEdit':
      return output.notebook_path && output.updated_file !== undefined
        ? [
            {
              type: 'diff',
              path: output.notebook_path,
              before: output.original_file ?? null,
              after: output.updated_file,
            },
          ]
        : contentBlocks(block.content)
    case 'Agent':
    case 'Task':
      if (output.status === 'async_launched') return [{ type: 'text', text: 'Started in the background.' }]
      return contentBlocks(Array.isArray(output.content) ? output.content : block.content)
    default:
      return [
        ...contentBlocks(block.content),
        ...(output.resourceLinks ?? []).map(({ uri, mimeType }) => ({
          type: 'resource' as const,
          uri,
          ...(mimeType && { mimeType }),
        })),
      ]
  }
}

const exitCodePattern = /^Exit code (\d+)\n?/

/** The output of a command. Its exit code is reported only on failure, as the first line of the result. */
function terminalOf({ content, is_error }: NativeBlock, output: NativeToolOutput): ToolContent[] | undefined {
  if (output.backgroundTaskId) return undefined
  if (is_error) {
    const [frame, exitCode] = (typeof content === 'string' && exitCodePattern.exec(content)) || []
    if (frame === undefined) return undefined
    return [{ type: 'terminal', output: String(content).slice(frame.length), exitCode: Number(exitCode) }]
  }
  const { stdout, stderr = '' } = output
  if (typeof stdout !== 'string' || Array.isArray(content)) return undefined
  return [{ type: 'terminal', output: [stdout, stderr].filter((part) => part !== '').join('\n') }]
}

/**
 * Returns a change as a patch, and a new file as its whole text. The previous content may be large and is not put
 * into the log.
 */
function fileDiff(path: string, hunks: readonly PatchHunk[], output: NativeToolOutput): ToolContent {
  if (output.originalFile === null && typeof output.content === 'string') {
    return { type: 'diff', path, before: null, after: output.content }
  }
  return { type: 'diff', path, patch: hunks.map(hunkText).join('\n') }
}

function hunkText({ oldStart, oldLines, newStart, newLines, lines }: PatchHunk): string {
  return [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n')
}

const errorPattern = /^<tool_use_error>([\s\S]*)<\/tool_use_error>$/

/** The content of a result: a text, or blocks of several kinds. */
function contentBlocks(content: unknown): ToolContent[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: errorPattern.exec(content)?.[1] ?? content }]
  if (!Array.isArray(content)) return [{ type: 'text', text: JSON.stringify(content) }]
  return content.map((block: NativeBlock): ToolContent => {
    if (block.type === 'text') return { type: 'text', text: block.text ?? '' }
    const { media_type: mimeType, data } = block.source ?? {}
    if (block.type === 'image' && mimeType && data) return { type: 'image', mimeType, data }
    return { type: 'text', text: JSON.stringify(block) }
  })
}

function withoutCall(state: TranslateState, nativeId: string): TranslateState {
  const id = callIdOf(state, nativeId)
  const calls = new Map(state.calls)
  const denied = new Set(state.denied)
  calls.delete(id)
  denied.delete(nativeId)
  denied.delete(id)
  return { ...state, calls, denied }
}
