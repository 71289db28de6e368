import type { HostToolContent, HostToolResult } from '@parley/adapter-kit'
import type { HostTool, HostToolContext } from '../../core/index.ts'
import type { FunctionTool, ToolOutput } from './specification.ts'

/** Passes a call to the caller, and resolves with the caller's result. */
export type HandOver = (name: string, input: unknown, context: HostToolContext) => Promise<HostToolResult>

/**
 * The caller's tools as host tools of a session. They are marked safe, because passing a call to the caller has no
 * effect: the caller decides whether the call runs, and checks its input. Deny rules of the host still apply.
 */
export function hostToolsOf(tools: readonly FunctionTool[], handOver: HandOver): HostTool[] {
  return tools.map((tool) => {
    const { name, description, providerOptions } = tool
    const readOnly = providerOptions?.parley?.readOnly === true
    const { $schema, ...inputSchema } = tool.inputSchema as Record<string, unknown>
    return {
      name,
      description: description?.trim() || name,
      inputSchema: { type: 'object', ...inputSchema },
      annotations: { title: name, kind: readOnly ? 'read' : 'other', readOnly, safe: true },
      prepare: async (input) => ({ input: input ?? {} }),
      run: (input, context) => handOver(name, input, context),
    }
  })
}

export function hostResultOf(output: ToolOutput): HostToolResult {
  switch (output.type) {
    case 'text':
      return { content: [text(output.value)] }
    case 'json':
      return { content: [text(JSON.stringify(output.value))] }
    case 'content':
      return { content: output.value.map(contentOf) }
    case 'execution-denied':
      return { content: [text(output.reason ?? 'The person denied this.')], isError: true }
    default: {
      const { value } = output
      return { content: [text(typeof value === 'string' ? value : JSON.stringify(value))], isError: true }
    }
  }
}

function contentOf(one: Extract<ToolOutput, { type: 'content' }>['value'][number]): HostToolContent {
  if (one.type === 'text' && one.text !== undefined) return text(one.text)
  if (one.data !== undefined && one.mediaType?.startsWith('image/')) {
    return { type: 'image', mimeType: one.mediaType, data: one.data }
  }
  return text(JSON.stringify(one))
}

const text = (words: string): HostToolContent => ({ type: 'text', text: words })
