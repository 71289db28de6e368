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
import { diffLines } from './diff-lines.ts'
import { type Html, html, pageEnd, pageStart } from './html.ts'
import { markdownHtml } from './markdown-html.ts'

/**
 * A session as one page without scripts or requests. All content is escaped by `html`; hidden characters in titles,
 * paths and requests are made visible.
 */
export function* htmlDocument({ state, timeline }: SessionView): Generator<string> {
  const title = visible(state.title || 'Untitled session')
  yield pageStart({ title })
  const about = sessionFacts(state).map(([name, value]) => html`<br>${name}: ${value}`)
  yield html`<h1>${title}</h1><p class="soft">A session of Parley${about}</p>`.text
  const permissions = permissionsOfCalls(timeline)
  const facts = factsOf(timeline)
  for (const block of inReadingOrder(timeline)) {
    if (block.type === 'tool-call') yield `\n${toolCall(block, permissions.get(block.id) ?? [], facts).text}`
    else if (block.type !== 'permission' || !permissions.get(block.request.toolCallId ?? '')?.includes(block))
      yield `\n${blockHtml(block, facts.waits.get(block) ?? 0).text}`
  }
  yield pageEnd
}

/**
 * The permissions of each call, by its id. A permission is shown with its call, which comes before it in the
 * timeline.
 */
function permissionsOfCalls(timeline: readonly Block[]): Map<string, BlockOf<'permission'>[]> {
  const calls = new Map<string, BlockOf<'permission'>[]>()
  for (const block of timeline) {
    if (block.type === 'tool-call') calls.set(block.id, [])
    if (block.type === 'permission') calls.get(block.request.toolCallId ?? '')?.push(block)
  }
  return calls
}

function blockHtml(block: Exclude<Block, { type: 'tool-call' }>, waited: number): Html {
  switch (block.type) {
    case 'prompt': {
      const note = promptNote(block)
      return html`<section class="prompt"><span class="soft">Prompt${note && `, ${note}`}</span>${block.parts.map(promptPart)}</section>`
    }
    case 'text':
      return html`<section${nesting(block)}>${markdownHtml(block.text)}${block.interrupted && html`<p class="soft">(cut off)</p>`}</section>`
    case 'thinking':
      return html`<section${nesting(block)}><details><summary>Thinking</summary><div class="text soft">${block.text}</div></details></section>`
    case 'permission':
      return html`<section>${permission(block)}</section>`
    case 'question':
      return question(block)
    case 'turn-end':
      return turnEnd(block, waited)
    case 'notice':
      return html`<section class="${block.level === 'error' ? 'bad' : 'soft'}">${noticeText(block)}</section>`
    case 'unrecognised':
      return html`<section><details><summary>Unrecognised message of the agent</summary><pre>${inputText(block.native)}</pre></details></section>`
  }
}

function nesting(block: { parentToolCallId?: string | undefined }): Html | undefined {
  return block.parentToolCallId ? html` class="nested"` : undefined
}

function promptPart(part: PromptPart): Html {
  switch (part.type) {
    case 'text':
      return html`<div class="text">${part.text}</div>`
    case 'command':
      return html`<div><code>/${part.name} ${part.arguments}</code></div>`
    case 'image':
      return image(part)
    case 'file':
      return html`<div class="soft">File: ${part.name}</div>${part.text !== undefined && html`<pre>${part.text}</pre>`}`
  }
}

function toolCall(
  block: BlockOf<'tool-call'>,
  permissions: readonly BlockOf<'permission'>[],
  facts: BlockFacts,
): Html {
  const command = facts.commands.get(block.id)
  const input = callInputText(block, facts)
  const places = (block.locations ?? []).map(
    ({ path, line }) => html` · ${visible(path)}${line && `:${line}`}`,
  )
  const tone = block.status === 'completed' ? 'good' : block.status === 'running' ? 'soft' : 'bad'
  return html`<section${nesting(block)}><strong>${visible(command ?? (block.title || block.name))}</strong> <span class="${tone}">${block.status}</span>
    <div class="soft">${visible(block.name)} · ${block.kind}${places}</div>
    ${input !== '' && html`<details><summary>${command === undefined ? 'Input' : 'Original input, changed by a person'}</summary><pre>${input}</pre></details>`}${permissions.map((asked) => permission(asked, block))}${block.content.map(toolContent)}</section>`
}

function toolContent(content: ToolContent): Html {
  switch (content.type) {
    case 'text':
      return html`<pre>${content.text}</pre>`
    case 'terminal': {
      const end = content.signal ?? content.exitCode
      return html`<pre>${content.output}</pre>${end != null && html`<p class="soft">ended with ${end}</p>`}`
    }
    case 'diff':
      return diff(content)
    case 'image':
      return image(content)
    case 'resource':
      return html`<div class="soft">${content.uri}</div>${content.text !== undefined && html`<pre>${content.text}</pre>`}`
  }
}

function diff(change: Diff): Html {
  const lines = diffLines(change).map(({ sign, text }) => {
    if (sign === '+') return html`<ins>+${text}\n</ins>`
    if (sign === '-') return html`<del>-${text}\n</del>`
    return html`${sign === '@' ? '' : sign}${text}\n`
  })
  return html`<div class="soft">${visible(change.path)}</div><pre>${lines}</pre>`
}

/** Shows an image if its type cannot contain markup, otherwise only its type. */
function image({ mimeType, data }: { mimeType: string; data: string }): Html {
  const plain = /^image\/(png|jpeg|gif|webp)$/.test(mimeType) && /^[A-Za-z0-9+/=\s]*$/.test(data)
  return plain
    ? html`<p><img alt="" src="data:${mimeType};base64,${data}"></p>`
    : html`<p class="soft">(an image, ${mimeType})</p>`
}

/** A permission as HTML. If it is shown with its call, it contains only data that the call does not show. */
function permission(block: BlockOf<'permission'>, call?: BlockOf<'tool-call'>): Html {
  const { request, resolution } = block
  const isShown = call?.content.some((part) => part.type === 'diff')
  const tone = resolution?.outcome === 'allowed' ? 'good' : 'bad'
  const input = call ? '' : inputText(request.input)
  const changes = changeText(request.input, resolution?.input, 2)
  const what = call ? '' : html` for <strong>${visible(request.tool)}</strong>, ${visible(request.title)}`
  return html`<div>Permission${what}: <span class="${tone}">${permissionText(block)}</span>
    ${request.reason && html`<p class="soft">${request.reason}</p>`}${input !== '' && html`<pre>${input}</pre>`}${changes !== undefined && html`<p class="soft">Run instead:</p><pre>${changes}</pre>`}${!isShown && requestedDiffs(request).map(diff)}${resolution?.message && html`<p class="text">${resolution.message}</p>`}</div>`
}

function question(block: BlockOf<'question'>): Html {
  const asked = block.request.questions.map(
    (one) =>
      html`<p><strong>${one.header}</strong>: ${one.text}</p><ul>${one.options.map((option) => html`<li>${option.label}</li>`)}</ul><p>${answerTitle(block)}: <strong>${shownAnswer(block, one.id)}</strong></p>`,
  )
  return html`<section>${asked}</section>`
}

function turnEnd(block: BlockOf<'turn-end'>, waited: number): Html {
  const { error } = block.end
  return html`<section class="soft">${turnEndText(block, waited)}${error && html`<p class="bad">${error.message}</p>`}</section>`
}
