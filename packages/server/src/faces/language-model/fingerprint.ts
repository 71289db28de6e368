import { hashOf } from '../../core/index.ts'
import { dataOf } from './file-data.ts'
import type { AssistantPart, Content, FilePart, Message, TextPart, ToolOutput } from './specification.ts'

/** One item of a history (a message, a text, a tool call or a tool result), normalised for comparison. */
type Statement = readonly unknown[]

/**
 * The fingerprint of a history: each text with its speaker, each tool call with its input, and each result. It does not
 * depend on how the history is split into messages, or on parts that callers drop (thinking, files from the agent,
 * metadata, error texts). `about` contains all other values that distinguish one session from another.
 */
export function fingerprintOf(about: unknown, statements: readonly Statement[]): string {
  return hashOf([about, merged(statements)])
}

/** The statements of the messages, without the inputs of `open` calls: callers may fill in defaults. */
export function statementsIn(messages: readonly Message[], open?: ReadonlySet<string>): Statement[] {
  return messages.flatMap((message): Statement[] => {
    if (message.role === 'system') return [['system', message.content]]
    if (message.role === 'user') return [['user', message.content.map(given)]]
    return message.content.flatMap((part) => statementsInPart(part, open))
  })
}

export function statementsInReply(content: readonly Content[], open?: ReadonlySet<string>): Statement[] {
  return content.flatMap((part): Statement[] => {
    if (part.type === 'tool-call') return statementsInPart({ ...part, input: JSON.parse(part.input) }, open)
    if (part.type === 'tool-result') {
      const { isError, result: value, ...rest } = part
      return statementsInPart({ ...rest, output: { type: isError ? 'error-json' : 'json', value } })
    }
    return part.type === 'file' ? [] : statementsInPart(part)
  })
}

function statementsInPart(
  part: AssistantPart | { type: 'tool-approval-response' },
  open?: ReadonlySet<string>,
): Statement[] {
  switch (part.type) {
    case 'text':
      return [['text', part.text]]
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted = false } = part
      const given = open?.has(toolCallId) ? null : input
      return [['call', toolCallId, toolName, given, providerExecuted]]
    }
    case 'tool-result':
      return [['result', part.toolCallId, outputOf(part.output)]]
    default:
      return []
  }
}

function outputOf(output: ToolOutput): unknown {
  if (output.type === 'text' || output.type === 'json') return ['value', output.value]
  return output.type === 'content' ? ['content', output.value] : ['error']
}

function given(part: TextPart | FilePart): unknown {
  if (part.type === 'text') return part.text
  return ['file', part.mediaType, part.data instanceof URL ? part.data.href : dataOf(part.data)]
}

function merged(statements: readonly Statement[]): Statement[] {
  const all: Statement[] = []
  for (const one of statements) {
    const last = all.at(-1)
    if (one[0] === 'text' && last?.[0] === 'text') all[all.length - 1] = ['text', `${last[1]}${one[1]}`]
    else all.push(one)
  }
  return all
    .map((one) => (one[0] === 'text' ? ['text', String(one[1]).trim()] : one))
    .filter(([what, text]) => what !== 'text' || text !== '')
}
