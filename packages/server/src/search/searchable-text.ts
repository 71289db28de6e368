import {
  isKnown,
  promptText,
  type SearchKind,
  type SessionEvent,
  type ToolContent,
  type UnknownEvent,
} from '@parley/protocol'

export type SearchableText = { readonly kind: SearchKind; readonly text: string }

/** Matches the beginning of the stored text of every event that can contain text to search. */
export const maybeSearchable =
  /"type":"(?:prompt\.submitted|text\.written|tool-call\.(?:called|ended)|question\.(?:asked|resolved))"/

/** The maximum length of the part of a text that is searched. A longer text is mostly data. */
const longest = { prompt: 32_768, answer: 32_768, call: 2_048, output: 2_048 } satisfies Record<
  SearchKind,
  number
>

/** The text of an event that a person may search for; undefined if there is none. */
export function searchableText(event: SessionEvent | UnknownEvent): SearchableText | undefined {
  const found = isKnown(event) ? textOf(event) : undefined
  if (!found) return undefined
  const text = found.text.slice(0, longest[found.kind])
  return text.trim() === '' ? undefined : { kind: found.kind, text }
}

function textOf(event: SessionEvent): SearchableText | undefined {
  switch (event.type) {
    case 'prompt.submitted':
      return { kind: 'prompt', text: promptText(event.parts) }
    case 'text.written':
      return { kind: 'answer', text: event.text }
    case 'tool-call.called':
      return { kind: 'call', text: [event.name, event.title, ...strings(event.input)].join('\n') }
    case 'tool-call.ended':
      return { kind: 'output', text: event.content.map(contentText).join('\n') }
    case 'question.asked':
      return {
        kind: 'answer',
        text: event.questions
          .flatMap(({ header, text, options }) => [header, text, ...options.map(({ label }) => label)])
          .join('\n'),
      }
    case 'question.resolved':
      return {
        kind: 'prompt',
        text: Object.values(event.answers ?? {})
          .flat()
          .join('\n'),
      }
    default:
      return undefined
  }
}

function contentText(content: ToolContent): string {
  switch (content.type) {
    case 'text':
      return content.text
    case 'terminal':
      return content.output
    case 'diff':
      return [content.path, content.patch ?? content.after ?? ''].join('\n')
    case 'resource':
      return [content.uri, content.text ?? ''].join('\n')
    default:
      return ''
  }
}

/** The strings inside a value, in order. */
function* strings(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* strings(item)
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) yield* strings(item)
}
