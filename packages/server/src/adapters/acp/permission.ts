import { readFile } from 'node:fs/promises'
import type { PermissionAsk, Person } from '../../core/agent-adapter.ts'
import type { Dialect } from './agent.ts'
import type { NativeOption, NativePermission } from './native.ts'

export type PermissionContext = {
  readonly person: Person
  readonly dialect: Dialect
  /** The call that is asked about, as the host knows it. */
  askFor(nativeId: string): PermissionAsk | undefined
  /** It may run: the files that it names may be written. */
  allowed(ask: PermissionAsk, paths: readonly string[]): Promise<void>
  /** The person wants the turn to end with this refusal. */
  endTurn(): void
}

type Outcome = { outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' } }

const cancelled: Outcome = { outcome: { outcome: 'cancelled' } }

/**
 * The agent's question whether a call may run, to the host and back. The answer is always one that holds once: what
 * holds longer is the host's to remember. Where no option says yes in words that are known, a person chooses among them.
 */
export async function answerPermission(
  context: PermissionContext,
  params: unknown,
  signal: AbortSignal,
): Promise<Outcome> {
  const { toolCall, options } = params as NativePermission
  const found = context.askFor(toolCall.toolCallId)
  if (!found) return cancelled
  const ask = await withPlan(found, context.dialect)
  const allow = optionOf(options, 'allow')
  if (!allow && !context.person.forbids(ask)) return choose(context, ask, options, signal)
  const answer = await context.person.permit(ask, signal)
  if (answer.outcome === 'allowed') {
    const paths = [...(toolCall.locations ?? []), ...(toolCall.content ?? [])].flatMap(
      ({ path }) => path ?? [],
    )
    if (ask.kind === 'edit' || ask.kind === 'delete' || ask.kind === 'move') await context.allowed(ask, paths)
    return allow ? selected(allow) : cancelled
  }
  if (answer.outcome === 'denied' && answer.endTurn) context.endTurn()
  const reject = optionOf(options, 'reject')
  return answer.outcome === 'denied' && reject ? selected(reject) : cancelled
}

/** Options of kinds that nobody has heard of: what they mean, a person must say. */
async function choose(
  { person }: PermissionContext,
  { toolCallId, title }: PermissionAsk,
  options: readonly NativeOption[],
  signal: AbortSignal,
): Promise<Outcome> {
  const question = {
    id: '1',
    header: 'Permission',
    text: title,
    options: options.map(({ name, kind }) => ({ label: name, ...(kind && { description: kind }) })),
    multiple: false,
    freeText: false,
  }
  const answer = await person.answer({ questions: [question], ...(toolCallId && { toolCallId }) }, signal)
  const label = answer.outcome === 'answered' ? answer.answers['1'] : undefined
  const option = options.find(({ name }) => name === label)
  return option ? selected(option) : cancelled
}

function optionOf(options: readonly NativeOption[], verdict: 'allow' | 'reject'): NativeOption | undefined {
  const kinds = [`${verdict}_once`, `${verdict}_always`]
  return kinds
    .map((kind) => options.find((option) => option.kind === kind))
    .find((option) => option !== undefined)
}

function selected({ optionId }: NativeOption): Outcome {
  return { outcome: { outcome: 'selected', optionId } }
}

const longestPlan = 200_000

/** A plan that lies in a file is put before the person with its words. */
async function withPlan(ask: PermissionAsk, { planFile }: Dialect): Promise<PermissionAsk> {
  const { title = '' } = (ask.input ?? {}) as { title?: string }
  const [, file] = (ask.kind === 'plan' && planFile && new RegExp(planFile).exec(title)) || []
  if (!file?.endsWith('.md')) return ask
  try {
    const plan = (await readFile(file, 'utf8')).slice(0, longestPlan)
    return { ...ask, input: { ...(ask.input as object), plan } }
  } catch {
    return ask
  }
}
