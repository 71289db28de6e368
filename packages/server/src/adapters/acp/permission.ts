import type { PermissionAsk, Person } from '@parley/adapter-kit'
import { pathsIn } from '@parley/adapter-kit/paths-in-input'
import { readRegularFile } from '@parley/adapter-kit/regular-file'
import type { Dialect } from './agent.ts'
import type { Change } from './files.ts'
import type { NativeCall, NativeOption, NativePermission } from './native.ts'

export type PermissionContext = {
  readonly person: Person
  readonly dialect: Dialect
  /** The call that the request is about, as the host describes it. */
  askFor(nativeId: string): Promise<PermissionAsk | undefined>
  /** Called when the call may run and make these changes. */
  allowed(ask: PermissionAsk, changes: readonly Change[]): Promise<void>
  /** Called when the person wants this refusal to end the turn. */
  endTurn(): void
}

type Outcome = { outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' } }

const cancelled: Outcome = { outcome: { outcome: 'cancelled' } }

/**
 * Answers an agent's permission request. The response always selects an option for a single use, since the host itself
 * stores wider decisions. If no option allows a single use, a person chooses among the options.
 */
export async function answerPermission(
  context: PermissionContext,
  params: unknown,
  signal: AbortSignal,
): Promise<Outcome> {
  const { toolCall, options } = params as NativePermission
  const found = await context.askFor(toolCall.toolCallId)
  if (!found) return cancelled
  const ask = withPlan(found, context.dialect)
  const allow = optionOf(options, 'allow_once')
  if (!allow && !context.person.forbids(ask)) return choose(context, ask, options, signal)
  const answer = await context.person.permit(ask, signal)
  if (answer.outcome === 'allowed' && allow) {
    await context.allowed(ask, changesOf(toolCall, ask))
    return selected(allow)
  }
  if (answer.outcome !== 'denied') return cancelled
  if (answer.endTurn) context.endTurn()
  const reject = optionOf(options, 'reject_once')
  return reject ? selected(reject) : cancelled
}

/** The changes that were shown to the person: the diffs, or the input. `locations` alone show no change. */
function changesOf({ content }: NativeCall, { input }: PermissionAsk): Change[] {
  const diffs = (content ?? []).flatMap(({ type, path, oldText, newText }) =>
    type === 'diff' && path !== undefined ? [{ path, oldText, newText: newText ?? '' }] : [],
  )
  return diffs.length > 0 ? diffs : pathsIn(input).map((path) => ({ path, input }))
}

/**
 * Asks a person to choose among the agent's own options. A rule or a mode never chooses a permanent option or one of
 * an unknown kind.
 */
async function choose(
  { person }: PermissionContext,
  { toolCallId, title }: PermissionAsk,
  options: readonly NativeOption[],
  signal: AbortSignal,
): Promise<Outcome> {
  const question = {
    id: '1',
    header: 'Permission',
    text: `${title}\nThe agent offers no answer that allows this once, so rules and modes are not applied. Choose one of its options.`,
    options: options.map(({ name, kind = '' }) => {
      const description = meanings[kind] ?? kind
      return { label: name, ...(description && { description }) }
    }),
    multiple: false,
    freeText: false,
  }
  const answer = await person.answer({ questions: [question], ...(toolCallId && { toolCallId }) }, signal)
  const label = answer.outcome === 'answered' ? answer.answers['1'] : undefined
  const option = options.find(({ name }) => name === label)
  return option ? selected(option) : cancelled
}

const meanings: Readonly<Record<string, string>> = {
  allow_always: 'The agent will not ask for this again.',
  reject_always: 'The agent will refuse this from now on.',
  reject_once: 'Not now.',
}

function optionOf(
  options: readonly NativeOption[],
  kind: 'allow_once' | 'reject_once',
): NativeOption | undefined {
  return options.find((option) => option.kind === kind)
}

function selected({ optionId }: NativeOption): Outcome {
  return { outcome: { outcome: 'selected', optionId } }
}

const longestPlan = 200_000

/** Adds the text of a plan that the agent wrote to a file, so that the person sees it. */
function withPlan(ask: PermissionAsk, { planFile }: Dialect): PermissionAsk {
  const { title = '' } = (ask.input ?? {}) as { title?: string }
  const [, file] = (ask.kind === 'plan' && planFile && new RegExp(planFile).exec(title)) || []
  if (!file?.endsWith('.md')) return ask
  try {
    const plan = readRegularFile(file, longestPlan)
    return { ...ask, input: { ...(ask.input as object), plan } }
  } catch {
    return ask
  }
}
