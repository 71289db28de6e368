import {
  type Diff,
  isRecord,
  type OpenRequest,
  type PermissionOption,
  type Question,
  requestedDiffs,
} from '@parley/protocol'
import type { Style } from './style.ts'
import { changeLines } from './tool-output.ts'
import { oneLine, visible } from './visible.ts'

/**
 * This file formats an open request as lines that show it completely: the action, the place, the reason and the
 * whole input. Pure.
 */

export type OpenPermission = Extract<OpenRequest, { type: 'permission' }>

export function permissionLines(request: OpenPermission, cwd: string, style: Style): string[] {
  const { kind, tool, title, reason, readOnly, parentToolCallId } = request
  const isPlan = kind === 'plan'
  const main = mainField(request)
  const isTitleSaid = isPlan || (main && isRecord(request.input) && request.input[main] === title)
  const what = kind === 'other' ? '' : `: ${kind}`
  const head = isPlan ? 'The agent asks you to approve its plan' : `The agent asks for permission${what}`
  const notes = [
    visible(tool),
    `in ${visible(cwd)}`,
    ...(readOnly ? ['read-only'] : []),
    ...(request.outside ? ['outside the folder'] : []),
    ...(request.protected ? ['a protected file'] : []),
    ...(parentToolCallId ? ['for a subagent'] : []),
  ]
  return [
    `${style.yellow('?')} ${style.bold(head)} ${style.dim(`(${notes.join(', ')})`)}`,
    ...(isTitleSaid ? [] : [`  ${style.bold(oneLine(title))}`]),
    ...(reason ? [`  why: ${oneLine(reason)}`] : []),
    ...detailLines(request, style).map((line) => `    ${line}`),
  ]
}

function detailLines(request: OpenPermission, style: Style): string[] {
  const diffs = requestedDiffs(request)
  if (diffs.length > 0)
    return diffs.flatMap((diff) => [style.bold(pathText(diff)), ...changeLines(diff, style)])
  const { input } = request
  const main = mainField(request)
  if (main === undefined || !isRecord(input)) return inputLines(input)
  const { [main]: text, ...rest } = input
  return [
    ...visible(String(text)).split('\n').map(style.cyan),
    ...Object.entries(rest).flatMap(([name, value]) =>
      inputLines(value).map((line, index) =>
        style.dim(index === 0 ? `${visible(name)}: ${line}` : `  ${line}`),
      ),
    ),
  ]
}

function pathText({ path, movedFrom, before, after }: Diff): string {
  const name = movedFrom === undefined ? visible(path) : `${visible(movedFrom)} → ${visible(path)}`
  return before === null ? `${name} (new file)` : after === null ? `${name} (deleted)` : name
}

/** The field of the input that contains the action itself; other fields only describe it. */
function mainField({ kind, input }: OpenPermission): 'plan' | 'command' | undefined {
  const name = kind === 'plan' ? 'plan' : 'command'
  return isRecord(input) && typeof input[name] === 'string' ? name : undefined
}

function inputLines(input: unknown): string[] {
  if (input === undefined || (isRecord(input) && Object.keys(input).length === 0)) return []
  return visible(typeof input === 'string' ? input : JSON.stringify(input, null, 2)).split('\n')
}

export function choiceLines(
  choices: readonly PermissionOption[],
  { kind }: Pick<OpenPermission, 'kind'>,
  style: Style,
): string[] {
  return choices.map((choice, index) => {
    const isOnce = choice.scope === 'once'
    const more = !isOnce ? '' : style.dim(choice.decision === 'allow' ? '  (or y)' : denyHint)
    const label = kind === 'plan' && isOnce ? planLabels[choice.decision] : oneLine(choice.label)
    return `  ${style.bold(String(index + 1))} ${label}${more}`
  })
}

const denyHint = '  (or n, and a reason if you like)'
const planLabels = { allow: 'Approve the plan', deny: 'Keep planning' }

export type Choice = { readonly option: PermissionOption; readonly message?: string }

/** Reads "1", "5 because it is in use", "y", "n because …" or "d"; undefined for anything else. */
export function readChoice(line: string, choices: readonly PermissionOption[]): Choice | undefined {
  const [word = '', ...rest] = line.trim().split(/\s+/)
  const message = line.trim().slice(word.length).trim()
  const option = /^\d+$/.test(word)
    ? choices[Number(word) - 1]
    : choices.find(({ decision, scope }) => scope === 'once' && names[decision].includes(word.toLowerCase()))
  if (!option || (rest.length > 0 && option.decision === 'allow')) return undefined
  return { option, ...(message !== '' && { message }) }
}

const names = { allow: ['y', 'yes', 'allow'], deny: ['n', 'no', 'd', 'deny'] }

export function questionLines(question: Question, style: Style): string[] {
  return [
    `${style.yellow('?')} ${style.bold(oneLine(question.header))} ${visible(question.text)}`,
    ...question.options.flatMap(({ label, description, preview }, index) => [
      `  ${style.bold(String(index + 1))} ${oneLine(label)}${description ? style.dim(`  ${oneLine(description)}`) : ''}`,
      ...(preview
        ? visible(preview)
            .split('\n')
            .map((line) => style.dim(`      ${line}`))
        : []),
    ]),
  ]
}

export function questionPrompt(question: Question): string {
  const { options, multiple, freeText } = question
  const numbers = options.length > 0 ? (multiple ? 'numbers such as 1,3' : `1 to ${options.length}`) : ''
  const own = freeText ? 'your own words' : ''
  return `${[numbers, own].filter(Boolean).join(', or ')}: `
}

/**
 * Reads the answer to a question; undefined if the line is not an answer. A number selects the option with that
 * number; anything else is free text, if the question accepts it.
 */
export function readAnswer(line: string, question: Question): string | string[] | undefined {
  const text = line.trim()
  if (text === '') return undefined
  const { options, multiple, freeText } = question
  const isNumbers = multiple ? /^\d+(\s*[, ]\s*\d+)*$/.test(text) : /^\d+$/.test(text)
  const labels = isNumbers
    ? text.split(/[\s,]+/).map((number) => options[Number(number) - 1]?.label)
    : options.filter(({ label }) => label.toLowerCase() === text.toLowerCase()).map(({ label }) => label)
  const known = labels.filter((label) => label !== undefined)
  if (known.length > 0 && known.length === labels.length) {
    return multiple ? [...new Set(known)] : known[0]
  }
  if (!freeText || (isNumbers && options.length > 0)) return undefined
  return multiple ? [text] : text
}
