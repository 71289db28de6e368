import type { AlertKind, NewTarget, Target } from '@parley/protocol'

export const requestAlerts: readonly AlertKind[] = ['request.waiting', 'request.resolved']
export const allAlerts: readonly AlertKind[] = [...requestAlerts, 'turn.ended', 'turn.failed']

/** The choice that matches the kinds of alerts of a target. */
export function choiceOf({ alerts }: Pick<Target, 'alerts'>): 'all' | 'requests' | 'some' {
  if (alerts.length === allAlerts.length) return 'all'
  return alerts.every((kind) => requestAlerts.includes(kind)) ? 'requests' : 'some'
}

export const choices: readonly (readonly [choice: string, label: string])[] = [
  ['all', 'Requests and ended turns'],
  ['requests', 'Only requests'],
]

export function alertsOf(choice: string): AlertKind[] {
  return [...(choice === 'requests' ? requestAlerts : allAlerts)]
}

export const details: readonly (readonly [detail: Target['detail'], label: string])[] = [
  ['none', 'No session details'],
  ['title', 'Title and tool'],
  ['full', 'All details'],
]

export const emptyTarget = { kind: 'webhook', url: '', name: '', token: '' }

export function targetOf({
  kind,
  url,
  name,
  token,
}: typeof emptyTarget): { readonly body: NewTarget } | { readonly problem: string } {
  if (!/^https?:\/\/./.test(url.trim())) return { problem: 'Enter an address that starts with https://.' }
  const named = { url: url.trim(), ...(name.trim() !== '' && { name: name.trim() }) }
  if (kind === 'webhook') return { body: { kind, ...named } }
  return { body: { kind: 'ntfy', ...named, ...(token.trim() !== '' && { token: token.trim() }) } }
}
