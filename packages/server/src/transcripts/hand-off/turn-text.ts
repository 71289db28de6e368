import type { Block, BlockOf, PromptPart, ToolContent } from '@parley/protocol'
import { type Detail, details, type TurnText } from './choose-details.ts'
import { cut, item, quoted } from './quoted-text.ts'

/** The blocks of one turn, in reading order, with data from the rest of the session that its text needs. */
export type ToldTurn = {
  readonly number: number
  readonly blocks: readonly Block[]
  readonly isLast: boolean
  /** The display name of the agent. */
  readonly agent: string
  /** The names of the images that are attached. */
  readonly attached: ReadonlyMap<object, string>
  /** The reasons that people gave when they denied calls, by tool call. */
  readonly denials: ReadonlyMap<string, string>
  /** The maximum length of a prompt or an answer at the level `cut`. */
  readonly maxCut?: number
}

/** The maximum length of the result of a call. */
const maxResult = 2_048
/** The maximum length of a file that is attached to a prompt. */
const maxFile = 2_048
/** The maximum lengths of a prompt or an answer: at the level `cut`, and at the level `one-line`. */
const defaultCut = 2_000
const maxLine = 200
/** The maximum number of tools that a line of counted calls names. */
const maxNames = 8

/**
 * The text of a turn at each level of detail. A text is made on first use. A text with less detail is never longer
 * than one with more detail.
 */
export function turnText(turn: ToldTurn): TurnText {
  const texts = new Map<Detail, string>([['left-out', '']])
  const least = leastLength(turn)
  const text = (detail: Detail): string => {
    const known = texts.get(detail)
    if (known !== undefined) return known
    const made = `${written(turn, detail)}\n\n`
    const more = details[details.indexOf(detail) - 1]
    const isSurelyShorter = more === undefined || (isBrief(detail) && made.length < least)
    const whole = isSurelyShorter ? undefined : text(more)
    const shorter = whole === undefined || made.length < whole.length ? made : whole
    texts.set(detail, shorter)
    return shorter
  }
  return { text, isWhole: (detail) => text(detail) === texts.get('whole') }
}

/**
 * A lower limit of the length of the complete text. It is half the length of the prompts and texts, because quoting
 * can shorten a line end by one character.
 */
function leastLength({ blocks }: ToldTurn): number {
  let length = 0
  for (const block of blocks) {
    if (block.type === 'text') length += block.text.length
    if (block.type === 'prompt')
      for (const part of block.parts) if (part.type === 'text' && !isHandOff(part)) length += part.text.length
  }
  return length / 2
}

const isBrief = (detail: Detail) => detail === 'cut' || detail === 'one-line'

function written(turn: ToldTurn, detail: Detail): string {
  const blocks = turn.blocks.filter((block) => !('parentToolCallId' in block && block.parentToolCallId))
  const title = `### Turn ${turn.number}${detail === 'whole' ? '' : ' (shortened)'}`
  const parts = detail === 'whole' || detail === 'calls-counted' ? verbatim : brief
  return [title, ...parts(turn, blocks, detail)].filter((part) => part !== '').join('\n\n')
}

/** Prompts and answers verbatim. Between them, calls have a line each, or are counted. */
function verbatim(turn: ToldTurn, blocks: readonly Block[], detail: Detail): string[] {
  const parts: string[] = []
  let calls: BlockOf<'tool-call'>[] = []
  const flush = () => {
    if (calls.length === 0) return
    parts.push(
      detail === 'whole' ? calls.map((call) => callText(turn, call)).join('\n') : callsCounted(calls),
    )
    calls = []
  }
  for (const block of blocks) {
    if (block.type === 'tool-call') {
      calls.push(block)
      continue
    }
    const text = blockText(turn, block)
    if (text === '') continue
    flush()
    parts.push(text)
  }
  flush()
  return parts
}

function blockText(turn: ToldTurn, block: Block): string {
  switch (block.type) {
    case 'prompt':
      return `${promptTitle(block)}:\n${quoted(promptText(turn, block))}`
    case 'text':
      return block.text.trim() === ''
        ? ''
        : `${turn.agent}${block.interrupted ? ' (interrupted)' : ''}:\n${quoted(block.text)}`
    case 'question':
      return questionText(block)
    case 'turn-end':
      return endText(block)
    default:
      return ''
  }
}

/** The prompts and the last answer, shortened. The calls are counted. */
function brief(turn: ToldTurn, blocks: readonly Block[], detail: Detail): string[] {
  const max = detail === 'cut' ? (turn.maxCut ?? defaultCut) : maxLine
  const told = (title: string, text: string) =>
    detail === 'cut'
      ? `${title}:\n${quoted(cut(text, max))}`
      : `${title}:\n${item(text, max).replace(/^- /, '> ')}`
  const prompts = blocks.filter((block) => block.type === 'prompt')
  const shown = detail === 'cut' ? prompts : prompts.slice(0, 1)
  const answer = blocks.findLast((block) => block.type === 'text' && block.text.trim() !== '')
  const end = blocks.find((block) => block.type === 'turn-end')
  const calls = blocks.filter((block) => block.type === 'tool-call')
  return [
    ...shown.map((block) => told(promptTitle(block), promptText(turn, block))),
    calls.length > 0 && detail === 'cut' ? callsCounted(calls) : '',
    answer?.type === 'text' ? told(turn.agent, answer.text) : '',
    end ? endText(end) : '',
  ]
}

function promptTitle({ delivery }: BlockOf<'prompt'>): string {
  return delivery === 'steer' ? 'Prompt, sent while the turn ran' : 'Prompt'
}

function promptText({ attached }: ToldTurn, { parts }: BlockOf<'prompt'>): string {
  return parts
    .filter((part) => !isHandOff(part))
    .map((part) => partText(part, attached))
    .join('\n')
}

/** True if the part is a hand-off. It is written before the turns. */
export function isHandOff(
  part: PromptPart,
): part is Extract<PromptPart, { type: 'text' | 'file' }> & { readonly handOff: string } {
  return (part.type === 'text' || part.type === 'file') && part.handOff !== undefined
}

function partText(part: PromptPart, attached: ReadonlyMap<object, string>): string {
  if (part.type === 'text') return part.text
  if (part.type === 'command') return `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}`
  if (part.type === 'image') return imageText(attached.get(part), part.name)
  const name = `[file: ${part.path ?? part.name}]`
  return part.text === undefined ? name : `${name}\n${cut(part.text, maxFile)}`
}

function imageText(attached: string | undefined, name = 'without a name'): string {
  return attached === undefined
    ? `[image: ${name}, not attached]`
    : `[image: ${name}, attached as ${attached}]`
}

const outcomes = { running: ' (not ended)', completed: '', failed: ' (failed)', cancelled: ' (cancelled)' }

/** A call as one line, with its result if it failed or belongs to the last turn. */
function callText({ isLast, denials, attached }: ToldTurn, call: BlockOf<'tool-call'>): string {
  const { name, title, status, locations = [], content } = call
  const [place] = locations
  const what = title.startsWith(name) ? title : `${name}: ${title}`
  const where = place && !title.includes(place.path) ? ` in ${place.path}` : ''
  const reason = denials.get(call.id)
  const outcome = status === 'denied' ? ` (denied${reason ? `: ${reason}` : ''})` : outcomes[status]
  const line = item(`${what}${where}${outcome}`)
  if (!isLast && status !== 'failed') return line
  const result = content
    .map((one) => contentText(one, attached))
    .filter((text) => text !== '')
    .join('\n')
  return result.trim() === '' ? line : `${line}\n${quoted(cut(result, maxResult))}`
}

function contentText(content: ToolContent, attached: ReadonlyMap<object, string>): string {
  if (content.type === 'text') return content.text
  if (content.type === 'terminal') return content.output
  if (content.type === 'resource') return content.text ?? content.uri
  return content.type === 'image' ? imageText(attached.get(content)) : ''
}

function callsCounted(calls: readonly BlockOf<'tool-call'>[]): string {
  const counts = new Map<string, number>()
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1)
  const names = [...counts].slice(0, maxNames).map(([name, count]) => `${count} ${name.slice(0, 60)}`)
  const failed = calls.filter(({ status }) => status === 'failed').length
  const denied = calls.filter(({ status }) => status === 'denied').length
  const notes = [failed > 0 && `${failed} failed`, denied > 0 && `${denied} denied`].filter(Boolean)
  const more = counts.size > maxNames ? ', …' : ''
  const total = calls.length === 1 ? '1 call' : `${calls.length} calls`
  return item(
    `${total}: ${names.join(', ')}${more}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`,
    1_000,
  )
}

function questionText({ request, resolution }: BlockOf<'question'>): string {
  const asked = request.questions.map(({ header, text }) => `${header}: ${text}`)
  const answers = request.questions.map(({ id }) => [resolution?.answers?.[id] ?? []].flat().join(', '))
  const answer = answers.some((one) => one !== '') ? answers.join('\n') : undefined
  const outcome = resolution?.outcome ?? 'not answered'
  return [
    `Question of the agent:\n${quoted(asked.join('\n'))}`,
    answer === undefined ? `- ${outcome}` : `Answer of the person:\n${quoted(answer)}`,
  ].join('\n\n')
}

/** A line about the end of the turn; empty if the turn was completed. */
function endText({ end: { outcome, error } }: BlockOf<'turn-end'>): string {
  if (outcome === 'completed') return ''
  return item(`The turn ended as ${outcome}${error ? `: ${error.message}` : ''}`)
}
