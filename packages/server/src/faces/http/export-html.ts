import type { Block, BlockOf, Diff, PromptPart, SessionView, ToolContent } from '@parley/protocol'
import { diffLines } from './diff-lines.ts'
import { answerWords, inputText, permissionWords, sessionFacts, turnWords } from './export-words.ts'
import { type Html, html, pageEnd, pageStart } from './html.ts'

/** A transcript as one page without scripts or requests. All content passes the escaping of `html`. */
export function* htmlTranscript({ state, timeline }: SessionView): Generator<string> {
  const title = state.title || 'Untitled session'
  yield pageStart({ title })
  const facts = sessionFacts(state).map(([name, value]) => html`<br>${name}: ${value}`)
  yield html`<h1>${title}</h1><p class="soft">A session of Parley${facts}</p>`.text
  for (const block of timeline) yield `\n${blockHtml(block).text}`
  yield pageEnd
}

function blockHtml(block: Block): Html {
  switch (block.type) {
    case 'prompt':
      return html`<section class="prompt"><span class="soft">Prompt${block.status !== 'sent' && `, ${block.status}`}</span>${block.parts.map(promptPart)}</section>`
    case 'text':
      return html`<section${nesting(block)}><div class="text">${block.text}</div>${block.interrupted && html`<p class="soft">(cut off)</p>`}</section>`
    case 'thinking':
      return html`<section${nesting(block)}><details><summary>Thinking</summary><div class="text soft">${block.text}</div></details></section>`
    case 'tool-call':
      return toolCall(block)
    case 'permission':
      return permission(block)
    case 'question':
      return question(block)
    case 'turn-end':
      return turnEnd(block)
    case 'notice':
      return html`<section class="${block.level === 'error' ? 'bad' : 'soft'}">${block.text} <code>${block.code}</code></section>`
    case 'unrecognised':
      return html`<section><details><summary>A message of the agent that Parley does not know</summary><pre>${inputText(block.native)}</pre></details></section>`
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

function toolCall(block: BlockOf<'tool-call'>): Html {
  const input = inputText(block.input)
  const places = (block.locations ?? []).map(({ path, line }) => html` · ${path}${line && `:${line}`}`)
  const tone = block.status === 'completed' ? 'good' : block.status === 'running' ? 'soft' : 'bad'
  return html`<section${nesting(block)}><strong>${block.title || block.name}</strong> <span class="${tone}">${block.status}</span>
    <div class="soft">${block.name} · ${block.kind}${places}</div>
    ${input !== '' && html`<details><summary>Input</summary><pre>${input}</pre></details>`}${block.content.map(toolContent)}</section>`
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
  return html`<div class="soft">${change.path}</div><pre>${lines}</pre>`
}

/** Only pictures that cannot carry markup. */
function image({ mimeType, data }: { mimeType: string; data: string }): Html {
  const plain = /^image\/(png|jpeg|gif|webp)$/.test(mimeType) && /^[A-Za-z0-9+/=\s]*$/.test(data)
  return plain
    ? html`<p><img alt="" src="data:${mimeType};base64,${data}"></p>`
    : html`<p class="soft">(an image, ${mimeType})</p>`
}

function permission(block: BlockOf<'permission'>): Html {
  const { request, resolution } = block
  const tone = resolution?.outcome === 'allowed' ? 'good' : 'bad'
  const input = request.toolCallId ? '' : inputText(request.input)
  return html`<section>Permission for <strong>${request.tool}</strong>, ${request.title}: <span class="${tone}">${permissionWords(block)}</span>
    ${request.reason && html`<p class="soft">${request.reason}</p>`}${input !== '' && html`<pre>${input}</pre>`}${request.diff && diff(request.diff)}${resolution?.message && html`<p class="text">${resolution.message}</p>`}</section>`
}

function question(block: BlockOf<'question'>): Html {
  const asked = block.request.questions.map(
    (one) =>
      html`<p><strong>${one.header}</strong>: ${one.text}</p><ul>${one.options.map((option) => html`<li>${option.label}</li>`)}</ul><p>Answer: <strong>${answerWords(block, one.id)}</strong></p>`,
  )
  return html`<section>${asked}</section>`
}

function turnEnd(block: BlockOf<'turn-end'>): Html {
  const { error } = block.end
  return html`<section class="soft">${turnWords(block)}${error && html`<p class="bad">${error.code}: ${error.message}</p>`}</section>`
}
