import type { BlockOf, ResolvedBy, SessionState } from '@parley/protocol'

/** What both transcripts say in the same words. */

export function sessionFacts(state: SessionState): [name: string, value: string][] {
  return [
    ['Agent', state.agent],
    ...(state.effective.model ? [['Model', state.effective.model] as [string, string]] : []),
    ['Folder', state.cwd],
    ['Begun', new Date(state.createdAt).toISOString()],
    ['Session', `${state.id}, up to event ${state.seq}`],
  ]
}

export function permissionWords({ resolution }: BlockOf<'permission'>): string {
  if (!resolution) return 'not answered yet'
  const scope = resolution.scope && resolution.scope !== 'once' ? `, scope ${resolution.scope}` : ''
  const edited = resolution.input !== undefined ? ', with edited input' : ''
  return `${resolution.outcome} ${resolverWords(resolution.by)}${scope}${edited}`
}

/** Who settled a request, or what did. */
export function resolverWords(by: ResolvedBy): string {
  return resolvers[by]
}

const resolvers: Readonly<Record<ResolvedBy, string>> = {
  person: 'by a person',
  rule: 'by a rule',
  mode: 'by the mode',
  timeout: 'because nobody answered in time',
  'turn-end': 'because the turn ended first',
}

export function answerWords({ resolution }: BlockOf<'question'>, questionId: string): string {
  if (!resolution) return 'not answered yet'
  const answer = resolution.answers?.[questionId]
  if (answer === undefined) return resolution.outcome
  return Array.isArray(answer) ? answer.join(', ') : answer
}

export function turnWords({ end }: BlockOf<'turn-end'>): string {
  const facts = [
    `${(end.durationMs / 1000).toFixed(1)} s`,
    ...(end.usage ? [`${end.usage.input} tokens in, ${end.usage.output} out`] : []),
    ...(end.costUsd !== undefined ? [`$${end.costUsd.toFixed(4)}`] : []),
  ]
  const outcome = end.outcome === 'unknown' ? 'It is unknown how the turn ended' : `Turn ${end.outcome}`
  return `${outcome}: ${facts.join(', ')}`
}

/** Its code is for programs, and stays in the log. */
export function noticeWords({ level, text }: BlockOf<'notice'>): string {
  return level === 'info' ? text : `${level === 'error' ? 'Error' : 'Warning'}: ${text}`
}

export function inputText(input: unknown): string {
  if (input === undefined) return ''
  return typeof input === 'string' ? input : JSON.stringify(input, null, 2)
}
