import type { Answers, Question } from '@parley/protocol'

/** An MCP elicitation: a form, or a page to visit. */
export type Elicitation = {
  readonly serverName: string
  readonly message: string
  readonly url?: string | undefined
  readonly requestedSchema?: Readonly<Record<string, unknown>> | undefined
}

export type ElicitedContent = Record<string, string | number | boolean | string[]>

type Field = {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly enumNames?: readonly string[]
  readonly oneOf?: readonly { readonly const: string; readonly title?: string }[]
  readonly items?: Field & { readonly anyOf?: Field['oneOf'] }
}

const leaveOut = '(leave out)'
const done = 'Done'
const yesOrNo = ['Yes', 'No'] as const

/** One question per form field. For a page to visit: the question whether the person visited the page. */
export function elicitedQuestions(request: Elicitation): Question[] {
  const header = request.serverName
  if (request.url !== undefined) {
    const text = `${request.message}\n${request.url}`
    return [
      {
        id: '1',
        header,
        text,
        options: [{ label: done }, { label: 'No' }],
        multiple: false,
        freeText: false,
      },
    ]
  }
  const fields = fieldsOf(request)
  if (fields.length === 0) {
    const options = yesOrNo.map((label) => ({ label }))
    return [{ id: '1', header, text: request.message, options, multiple: false, freeText: false }]
  }
  return fields.map(({ name, field, required }, index) => {
    const asked = field.description ?? field.title ?? name
    const choices = choicesOf(field)
    return {
      id: name,
      header,
      text: index === 0 ? `${request.message}\n${asked}` : asked,
      options: [
        ...choices.map(({ title }) => ({ label: title })),
        ...(required ? [] : [{ label: leaveOut }]),
      ],
      multiple: field.type === 'array',
      freeText: choices.length === 0,
    }
  })
}

/**
 * The answers in the form that the MCP server expects; undefined if the person declines or an answer does not fit.
 */
export function elicitedContent(request: Elicitation, answers: Answers): ElicitedContent | undefined {
  if (request.url !== undefined) return answers['1'] === done ? {} : undefined
  const fields = fieldsOf(request)
  if (fields.length === 0) return answers['1'] === yesOrNo[0] ? {} : undefined
  const content: ElicitedContent = {}
  for (const { name, field } of fields) {
    const given = [answers[name] ?? leaveOut].flat()
    if (given.includes(leaveOut)) continue
    const value = valueFrom(field, given)
    if (value === undefined) return undefined
    content[name] = value
  }
  return content
}

function fieldsOf({ requestedSchema }: Elicitation) {
  const { properties, required } = (requestedSchema ?? {}) as {
    properties?: Record<string, Field>
    required?: readonly string[]
  }
  return Object.entries(properties ?? {}).map(([name, field]) => ({
    name,
    field,
    required: required?.includes(name) ?? false,
  }))
}

function choicesOf(field: Field): readonly { title: string; value: string }[] {
  if (field.type === 'boolean') return yesOrNo.map((title) => ({ title, value: title }))
  const source = field.type === 'array' ? (field.items ?? {}) : field
  const titled = source.oneOf ?? (source as NonNullable<Field['items']>).anyOf
  if (titled) return titled.map((one) => ({ title: one.title ?? one.const, value: one.const }))
  return (source.enum ?? []).map((value, index) => ({ title: source.enumNames?.[index] ?? value, value }))
}

function valueFrom(field: Field, given: readonly string[]): ElicitedContent[string] | undefined {
  const values = given.map((title) => choicesOf(field).find((one) => one.title === title)?.value ?? title)
  const [first = ''] = values
  if (field.type === 'array') return values
  if (field.type === 'boolean') return first === yesOrNo[0]
  if (field.type !== 'number' && field.type !== 'integer') return first
  const number = Number(first)
  const fits = first.trim() !== '' && Number.isFinite(number)
  return fits && (field.type === 'number' || Number.isInteger(number)) ? number : undefined
}
