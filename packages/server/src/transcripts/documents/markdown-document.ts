import {
  type Block,
  type BlockOf,
  type Diff,
  inReadingOrder,
  type PromptPart,
  requestedDiffs,
  type SessionView,
  type ToolContent,
  visible,
} from '@parley/protocol'
import {
  answerTitle,
  type BlockFacts,
  callInputText,
  changeText,
  factsOf,
  inputText,
  noticeText,
  permissionText,
  promptNote,
  sessionFacts,
  shownAnswer,
  turnEndText,
} from './block-text.ts'
import { diffLines, diffText } from './diff-lines.ts'
import { contained, fenced, inline, quoted } from './markdown-text.ts'

/** A session as Markdown. No content of a session can end the section that contains it. */
export function* markdownDocument({ state, timeline }: SessionView): Generator<string> {
  yield `# ${inline(visible(state.title || 'Untitled session'))}\n\n`
  yield sessionFacts(state)
    .map(([name, value]) => `- ${name}: ${inline(value)}\n`)
    .join('')
  const facts = factsOf(timeline)
  for (const block of inReadingOrder(timeline)) {
    const text = blockText(block, facts)
    if (text) yield `\n${text}\n`
  }
}

function blockText(block: Block, facts: BlockFacts): string {
  switch (block.type) {
    case 'prompt': {
      const note = promptNote(block)
      return paragraphs(`## Prompt${note ? ` (${note})` : ''}`, ...block.parts.map(promptPart))
    }
    case 'text':
      return paragraphs(contained(block.text), block.interrupted && '*(cut off)*')
    case 'thinking':
      return details('Thinking', quoted(block.text))
    case 'tool-call':
      return toolCall(block, facts)
    case 'permission':
      return permission(block)
    case 'question':
      return question(block)
    case 'turn-end': {
      const problem = block.end.error && inline(block.end.error.message)
      return paragraphs(`*${inline(turnEndText(block, facts.waits.get(block) ?? 0))}*`, problem, '---')
    }
    case 'notice':
      return `*${inline(noticeText(block))}*`
    case 'unrecognised':
      return details('Unrecognised message of the agent', fenced(inputText(block.native), 'json'))
  }
}

function promptPart(part: PromptPart): string {
  if (part.type === 'text') return quoted(part.text)
  if (part.type === 'command') return quoted(`/${part.name}${part.arguments ? ` ${part.arguments}` : ''}`)
  const name = part.name ? ` ${inline(part.name)}` : ''
  const text = part.type === 'file' && part.text !== undefined ? fenced(part.text) : undefined
  return paragraphs(`*(${part.type}${name})*`, text)
}

function toolCall(block: BlockOf<'tool-call'>, facts: BlockFacts): string {
  const command = facts.commands.get(block.id)
  const input = callInputText(block, facts)
  const places = (block.locations ?? []).map(({ path, line }) => inline(line ? `${path}:${line}` : path))
  return paragraphs(
    `### ${inline(visible(command ?? (block.title || block.name)))}`,
    `*${inline(block.name)}, ${block.kind}: ${block.status}${block.parentToolCallId ? ', by a subagent' : ''}*`,
    places.length > 0 && places.join(', '),
    command !== undefined && '*Original input, changed by a person:*',
    input !== '' && fenced(input, 'json'),
    ...block.content.map(toolContent),
  )
}

function toolContent(content: ToolContent): string {
  switch (content.type) {
    case 'text':
      return fenced(content.text)
    case 'terminal': {
      const end = content.signal ?? content.exitCode
      return paragraphs(
        fenced(content.output, 'console'),
        end != null && `*ended with ${inline(String(end))}*`,
      )
    }
    case 'diff':
      return diff(content)
    case 'image':
      return `*(an image, ${inline(content.mimeType)})*`
    case 'resource':
      return paragraphs(inline(content.uri), content.text !== undefined && fenced(content.text))
  }
}

function diff(change: Diff): string {
  return paragraphs(inline(visible(change.path)), fenced(diffText(diffLines(change)), 'diff'))
}

function permission(block: BlockOf<'permission'>): string {
  const { request, resolution } = block
  const changes = changeText(request.input, resolution?.input, 2)
  return paragraphs(
    `**Permission** for ${inline(visible(request.tool))}, ${inline(visible(request.title))}: **${permissionText(block)}**`,
    request.reason && inline(request.reason),
    !request.toolCallId && inputText(request.input) !== '' && fenced(inputText(request.input), 'json'),
    changes !== undefined && paragraphs('Run instead:', fenced(changes)),
    ...requestedDiffs(request).map(diff),
    resolution?.message && quoted(resolution.message),
  )
}

function question(block: BlockOf<'question'>): string {
  const asked = block.request.questions.map((one) =>
    paragraphs(
      `**${inline(one.header)}**: ${inline(one.text)}`,
      one.options.map((option) => `- ${inline(option.label)}`).join('\n'),
      `${inline(answerTitle(block))}: **${inline(shownAnswer(block, one.id))}**`,
    ),
  )
  return paragraphs(...asked)
}

function paragraphs(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}

function details(summary: string, body: string): string {
  return `<details>\n<summary>${summary}</summary>\n\n${body}\n\n</details>`
}
