import type { Person } from '@parley/adapter-kit'
import { type Elicitation, elicitedContent, elicitedQuestions } from '@parley/adapter-kit/elicitation'
import type { Answers, Question } from '@parley/protocol'

type Field = {
  readonly type?: string
  readonly oneOf?: readonly Choice[]
  readonly items?: { readonly anyOf?: readonly Choice[] }
}
type Choice = { readonly const: string; readonly title?: string; readonly description?: string | null }
type Schema = { readonly properties?: Readonly<Record<string, Field>>; readonly required?: readonly string[] }

type NativeElicitation = {
  readonly mode?: string
  readonly message?: string
  readonly url?: string
  readonly elicitationId?: string
  readonly requestedSchema?: Schema
  readonly toolCallId?: string | null
}

export type QuestionContext = {
  readonly person: Person
  /** The name of the agent, for people. */
  readonly agent: string
  /** The suffix of a field that holds free text for another field. */
  readonly customAnswer: string | undefined
  /** Converts the agent's id of a call to ours. */
  callId(nativeId: string): string | undefined
}

/** Presents a form, or a page to visit, as questions, and converts the answers to the values of the form. */
export async function answerElicitation(
  context: QuestionContext,
  params: unknown,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const native = params as NativeElicitation
  const { person, agent, customAnswer } = context
  const custom = customFields(native.requestedSchema, customAnswer)
  const request = elicitation(native, agent, custom)
  const questions = elicitedQuestions(request).map((question) => described(question, native, custom))
  const toolCallId = native.toolCallId ? context.callId(native.toolCallId) : undefined
  const answer = await person.answer({ questions, ...(toolCallId !== undefined && { toolCallId }) }, signal)
  if (answer.outcome !== 'answered') return { action: 'cancel' }
  const content = elicitedContent(request, answer.answers)
  if (!content) return { action: 'decline' }
  return { action: 'accept', content: withCustom(content, custom, native, answer.answers) }
}

/** Maps a field to the field for its free text. */
type CustomFields = ReadonlyMap<string, string>

function customFields(schema: Schema | undefined, ending: string | undefined): CustomFields {
  const names = Object.keys(schema?.properties ?? {})
  if (ending === undefined) return new Map()
  return new Map(names.filter((name) => names.includes(name + ending)).map((name) => [name, name + ending]))
}

function elicitation(native: NativeElicitation, agent: string, custom: CustomFields): Elicitation {
  const { message = 'The agent asks:', mode, url, requestedSchema } = native
  if (mode === 'url') return { serverName: agent, message, url }
  const beside = new Set(custom.values())
  const own = Object.entries(requestedSchema?.properties ?? {}).filter(([name]) => !beside.has(name))
  const schema = { ...requestedSchema, properties: Object.fromEntries(own) }
  return { serverName: agent, message, requestedSchema: schema }
}

/** Adds the descriptions of the choices, which the shared function omits. */
function described(
  question: Question,
  { requestedSchema }: NativeElicitation,
  custom: CustomFields,
): Question {
  const choices = choicesOf(requestedSchema?.properties?.[question.id])
  const options = question.options.map((option) => {
    const choice = choices.find((one) => (one.title ?? one.const) === option.label)
    return choice?.description ? { ...option, description: choice.description } : option
  })
  return { ...question, options, ...(custom.has(question.id) && { freeText: true }) }
}

function withCustom(
  content: Record<string, unknown>,
  custom: CustomFields,
  { requestedSchema }: NativeElicitation,
  answers: Answers,
): Record<string, unknown> {
  const result = { ...content }
  for (const [name, beside] of custom) {
    const choices = choicesOf(requestedSchema?.properties?.[name])
    const isChoice = (given: string) => choices.some((one) => given === (one.title ?? one.const))
    const own = [answers[name] ?? []].flat().filter((given) => name in result && !isChoice(given))
    if (own.length === 0) continue
    const rest = [result[name]].flat().filter((value) => !own.includes(String(value)))
    if (Array.isArray(result[name]) && rest.length > 0) result[name] = rest
    else delete result[name]
    result[beside] = own.join(', ')
  }
  return result
}

function choicesOf(field: Field | undefined): readonly Choice[] {
  return field?.oneOf ?? field?.items?.anyOf ?? []
}
