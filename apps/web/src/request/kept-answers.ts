import { newId } from '@parley/protocol'
import { createStore, useStore } from '../page/store.ts'
import type { Answering } from './answer-words.logic.ts'

/**
 * An answer on its way. Kept in the browser until the server has it: a reload or a closed tab loses nothing. It names
 * its request, so it can never be taken for the answer to another.
 */
export type KeptAnswer = {
  readonly commandId: string
  readonly sessionId: string
  readonly requestId: string
  readonly answer: Answering
  /** What was asked and answered, for people. */
  readonly asked: string
  readonly said: string
  /** The tab that it was given in, which sends it. */
  readonly tab: string
  /** sending: given just now. late: not taken yet. held: sent by nobody until the person says so. sent: taken. */
  readonly state: 'sending' | 'late' | 'held' | 'sent'
  /** It was not taken at once: it is shown in place of the card. */
  readonly waited: boolean
  /** Why it is held. */
  readonly problem?: string
}

/** Of this page: the same after a reload, another in another tab. */
export const tab = tabId()

const prefix = 'parley:answer:'
const mostSent = 50

/** What the browser had no room for: only this page knows of it. */
const unwritten = new Set<string>()

/** Each under a key of its own: two tabs that write at once overwrite nothing of each other's. */
export const keptAnswers = createStore<readonly KeptAnswer[]>(readAll())

addEventListener('storage', ({ key }) => {
  if (key !== null && !key.startsWith(prefix)) return
  const isOnlyHere = ({ state, commandId }: KeptAnswer) => state === 'sent' || unwritten.has(commandId)
  keptAnswers.set((before) => [...before.filter(isOnlyHere), ...readAll()])
})

export function keepAnswer(answer: KeptAnswer): void {
  try {
    localStorage.setItem(prefix + answer.commandId, JSON.stringify(answer))
    unwritten.delete(answer.commandId)
  } catch {
    unwritten.add(answer.commandId)
  }
  keptAnswers.set((all) => [...without(all, answer.commandId), answer])
}

/** The same with other fields; nothing if it was taken back or sent meanwhile. */
export function changeAnswer(commandId: string, change: Partial<KeptAnswer>): void {
  const known = keptAnswers.get().find((one) => one.commandId === commandId)
  if (known && known.state !== 'sent') keepAnswer({ ...known, ...change })
}

export function forgetAnswer(commandId: string): void {
  drop(commandId)
  keptAnswers.set((all) => without(all, commandId))
}

/** Until the log says so too, the page remembers that it is answered. */
export function rememberSent(commandId: string): void {
  drop(commandId)
  keptAnswers.set((all) => {
    const sent = all.filter((one) => one.state === 'sent').slice(-mostSent)
    const others = all.filter((one) => one.state !== 'sent')
    return [
      ...sent,
      ...others.map((one) => (one.commandId === commandId ? { ...one, state: 'sent' as const } : one)),
    ]
  })
}

/** The answer that was given to a request here and that the log does not show yet. */
export function useAnswerTo(requestId: string): KeptAnswer | undefined {
  return useStore(keptAnswers, (all) => all.findLast((one) => one.requestId === requestId))
}

export function useKeptAnswers(): readonly KeptAnswer[] {
  return useStore(keptAnswers)
}

/** An answer given in this tab is under way. One of another tab does not count: whoever is first at the server is right. */
export function useIsAnswering(requestId: string): boolean {
  return useStore(keptAnswers, (all) => all.some((one) => one.requestId === requestId && one.tab === tab))
}

/** What still wants an answer first, then what is answered and waits to be sent. */
export function useUnansweredFirst<Request extends { readonly requestId: string }>(
  requests: readonly Request[],
): { readonly open: readonly Request[]; readonly answered: readonly Request[] } {
  const all = useKeptAnswers()
  const isAnswered = ({ requestId }: Request) => all.some((one) => one.waited && one.requestId === requestId)
  return { open: requests.filter((one) => !isAnswered(one)), answered: requests.filter(isAnswered) }
}

function without(all: readonly KeptAnswer[], commandId: string): readonly KeptAnswer[] {
  return all.filter((one) => one.commandId !== commandId)
}

function drop(commandId: string): void {
  unwritten.delete(commandId)
  try {
    localStorage.removeItem(prefix + commandId)
  } catch {}
}

function readAll(): readonly KeptAnswer[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(prefix))
      .flatMap((key) => {
        const kept: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
        return isKept(kept) ? [kept] : []
      })
  } catch {
    return []
  }
}

function isKept(kept: unknown): kept is KeptAnswer {
  const { commandId, sessionId, requestId, answer } = (kept ?? {}) as Partial<KeptAnswer>
  return Boolean(commandId && sessionId && requestId) && answer?.requestId === requestId
}

function tabId(): string {
  const fresh = newId('cmd')
  try {
    const known = sessionStorage.getItem('parley:tab')
    if (known) return known
    sessionStorage.setItem('parley:tab', fresh)
  } catch {}
  return fresh
}
