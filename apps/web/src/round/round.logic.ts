import type { Attempt, AttemptCheck, AttemptState, Round, TokenUsage } from '@parley/protocol'
import { amount, dollars, visible } from '../base/format.logic.ts'

type Tone = 'plain' | 'good' | 'bad' | 'wait'
export type Told = { readonly text: string; readonly tone: Tone }

export function stateText({ state, requests }: Pick<Attempt, 'state' | 'requests'>): Told {
  if (state === 'waiting')
    return { text: requests === 1 ? 'Needs an answer' : `Needs ${requests} answers`, tone: 'wait' }
  return states[state]
}

const states: Record<Exclude<AttemptState, 'waiting'>, Told> = {
  preparing: { text: 'Preparing', tone: 'plain' },
  working: { text: 'Working', tone: 'plain' },
  done: { text: 'Done', tone: 'good' },
  stopped: { text: 'Stopped', tone: 'plain' },
  failed: { text: 'Failed', tone: 'bad' },
}

export function checkText(check: AttemptCheck | undefined): Told {
  if (!check) return { text: 'not run', tone: 'plain' }
  if (check.running) return { text: 'running…', tone: 'plain' }
  const { exitCode, outdated, error } = check
  const before = outdated ? ', before the last change' : ''
  if (exitCode === 0) return { text: `passed${before}`, tone: outdated ? 'plain' : 'good' }
  if (exitCode !== undefined) return { text: `failed with exit code ${exitCode}${before}`, tone: 'bad' }
  return { text: error ? `did not end: ${visible(error.message)}` : 'did not end', tone: 'bad' }
}

export const notReported = 'not reported'

export function tokensText(tokens: TokenUsage | undefined): string {
  if (!tokens) return notReported
  const { input, output, cacheRead = 0, cacheWrite = 0 } = tokens
  return `${amount(input + cacheRead + cacheWrite)} in, ${amount(output)} out`
}

export function costText({ costUsd, notionalCost }: Pick<Attempt, 'costUsd' | 'notionalCost'>): string {
  if (costUsd === undefined) return notReported
  return notionalCost ? `${dollars(costUsd)} at list price` : dollars(costUsd)
}

/** The name of an attempt: its number, its agent and, if it is known, its model. */
export function attemptName(
  attempt: Pick<Attempt, 'attempt' | 'agent' | 'model'>,
  agentName: string,
): string {
  const { attempt: number, model } = attempt
  return `${number} · ${agentName}${model === undefined ? '' : ` · ${visible(model)}`}`
}

/** The attempt whose changes are shown at first. */
export function attemptAtFirst({ attempts, picked }: Round): number | undefined {
  const changed = attempts.find(({ changes }) => changes !== undefined && changes.files > 0)
  return picked ?? changed?.attempt ?? attempts[0]?.attempt
}

/** The last line of an answer that contains words, without Markdown markup. */
export function lastLine(text: string | undefined): string | undefined {
  return text
    ?.split('\n')
    .map((line) => line.replace(/^\s*(?:#+|[-*+>]|\d+\.)\s+|\*\*|`/g, '').trim())
    .findLast((line) => /[\p{L}\p{N}]/u.test(line))
}

/** What happens when an attempt is picked, one sentence each. */
export function pickConsequences({ attempts, picked }: Round, chosen: number): string[] {
  const others = attempts.filter(({ attempt }) => attempt !== chosen)
  const removed = others.filter(({ worktree }) => worktree && worktree.phase !== 'removed')
  const isGone = attempts.find(({ attempt }) => attempt === chosen)?.worktree?.phase === 'removed'
  const busy = others.filter(({ state }) => state === 'working' || state === 'waiting')
  const is = ({ length }: readonly Attempt[]) => (length === 1 ? 'is' : 'are')
  return [
    isGone && 'The worktree of this attempt is restored.',
    busy.length > 0 && `${upper(namesOf(busy))} ${is(busy)} still working, and will be stopped.`,
    removed.length > 0 &&
      `The ${removed.length === 1 ? 'worktree' : 'worktrees'} of ${namesOf(removed)} ${is(removed)} removed. A worktree with files or commits that could not be restored is kept.`,
    'The sessions and their changes stay, so you can pick another attempt later.',
    picked !== undefined && picked !== chosen && `Attempt ${picked} is no longer picked.`,
  ].filter((sentence) => sentence !== false)
}

/** The attempts as text, such as "attempts 1, 2 and 4". */
function namesOf(attempts: readonly Attempt[]): string {
  const numbers = attempts.map(({ attempt }) => attempt)
  const last = numbers.pop()
  return numbers.length === 0 ? `attempt ${last}` : `attempts ${numbers.join(', ')} and ${last}`
}

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** The attempts whose check can be run now. */
export function checkableAttempts({ attempts, checkable }: Round): readonly Attempt[] {
  if (!checkable) return []
  return attempts.filter(
    ({ state, worktree, check }) =>
      !check?.running &&
      worktree?.phase === 'ready' &&
      state !== 'working' &&
      state !== 'waiting' &&
      state !== 'preparing',
  )
}
