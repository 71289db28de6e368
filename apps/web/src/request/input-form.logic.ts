import { commandOf, messageOf } from '@parley/protocol'
import { asJson } from '../call/call-text.logic.ts'

/** The input of a call as a form: a field for each string, and JSON for everything else. */
type InputForm = {
  readonly texts: readonly TextField[]
  /** Undefined if all values are strings. */
  readonly others: string | undefined
}
type TextField = { readonly name: string; readonly text: string }

/** The edited fields. A field that is missing here is unchanged. */
export type Edits = { readonly texts?: Readonly<Record<string, string>>; readonly others?: string }

type Fields = Readonly<Record<string, unknown>>

export function inputForm(input: unknown): InputForm {
  if (!isFields(input)) return { texts: [], others: asJson(input ?? {}) }
  const texts = Object.entries(input).flatMap(([name, text]) =>
    typeof text === 'string' ? [{ name, text }] : [],
  )
  const others = othersOf(input)
  const isAll = texts.length > 0 && Object.keys(others).length === 0
  return { texts, others: isAll ? undefined : asJson(others) }
}

export function textIn(edits: Edits, { name, text }: TextField): string {
  const { texts = {} } = edits
  return Object.hasOwn(texts, name) ? texts[name]! : text
}

/** `at`: the field that has the problem; undefined if the problem is in the JSON. */
type Edited = { readonly input: unknown; readonly problem?: string; readonly at?: string }

/**
 * The whole input with the edits applied; the same object if nothing was edited. Only edited values are parsed, so
 * that the others keep their types.
 */
export function editedInput(input: unknown, edits: Edits): Edited {
  const form = inputForm(input)
  const isSame = edits.others === undefined || edits.others === form.others
  const read = isSame || form.others === undefined ? undefined : readJson(edits.others)
  if (read?.problem !== undefined) return { input, problem: read.problem }
  if (!isFields(input)) return { input: read ? read.value : input }
  const others = read ? read.value : othersOf(input)
  if (!isFields(others)) return { input, problem: 'This must be an object: names and values in { }.' }
  const taken = form.texts.find(({ name }) => Object.hasOwn(others, name))
  if (taken) return { input, problem: `Edit “${taken.name}” in its own field above.` }
  const texts = form.texts.map(
    (field) => [field.name, withLineEnds(field.text, textIn(edits, field))] as const,
  )
  if (!read && texts.every(([name, text]) => text === input[name])) return { input }
  const emptied = texts.find(([name, text]) => text.trim() === '' && commandOf(input) === input[name])
  if (emptied) return { input, problem: 'Enter a command, or deny the request.', at: emptied[0] }
  return { input: inOrderOf(input, Object.fromEntries([...texts, ...Object.entries(others)])) }
}

function readJson(text: string): { value?: unknown; problem?: string } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (thrown) {
    return { problem: `This is not JSON: ${messageOf(thrown)}` }
  }
}

/** Gives lines that were not edited their original line ends back, because a textarea normalizes line ends. */
function withLineEnds(before: string, after: string): string {
  const old = before.split(/(?<=\r\n|\r(?!\n)|\n)/)
  const now = after.split(/(?<=\n)/)
  const max = Math.min(old.length, now.length)
  const isSame = (one: string | undefined, other: string | undefined) =>
    one?.replace(/\r\n?$/, '\n') === other
  let [top, bottom] = [0, 0]
  while (top < max && isSame(old[top], now[top])) top++
  while (bottom < max - top && isSame(old.at(-1 - bottom), now.at(-1 - bottom))) bottom++
  const usual = /\r\n/.test(before) && !/(?<!\r)\n/.test(before) ? '\r\n' : '\n'
  const edited = now.slice(top, now.length - bottom).map((line) => line.replace(/\n$/, usual))
  const whole = [...old.slice(0, top), ...edited, ...old.slice(old.length - bottom)].join('')
  // If a "\r" and a "\n" became adjacent, they form a single line end. The edited text is then returned
  // unchanged.
  return whole.replace(/\r\n?/g, '\n') === after ? whole : after
}

function inOrderOf(before: Fields, after: Fields): Fields {
  const unchanged = Object.keys(before).filter((name) => Object.hasOwn(after, name))
  return Object.fromEntries(
    [...new Set([...unchanged, ...Object.keys(after)])].map((name) => [name, after[name]]),
  )
}

function othersOf(input: Fields): Fields {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => typeof value !== 'string'))
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
