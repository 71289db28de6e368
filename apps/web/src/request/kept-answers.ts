import { newId } from '@parley/protocol'
import { createStore, useStore } from '../base/store.ts'
import type { Answering } from '../call/answer-text.logic.ts'

/**
 * An answer that is being sent. It is kept in the browser until the server has it, so a reload or a closed tab loses
 * nothing. It carries the id of its request, so it can never answer another one.
 */
export type KeptAnswer = {
  readonly commandId: string
  readonly sessionId: string
  readonly requestId: string
  readonly answer: Answering
  /** The request and the answer, as texts for people. */
  readonly asked: string
  readonly said: string
  /** The tab in which the answer was given. That tab sends it. */
  readonly tab: string
  /** sending: just given. late: not accepted yet. held: sent only when the person confirms it. sent: accepted. */
  readonly state: 'sending' | 'late' | 'held' | 'sent'
  /** It was not accepted at once: it is shown in place of the card. */
  readonly waited: boolean
  /** Why it is held. */
  readonly problem?: string
}

/** The id of this tab. It survives a reload. */
export const tab = tabId()

const prefix = 'parley:answer:'
const mostSent = 50

/** Answers that did not fit into local storage: only this page has them. */
const unwritten = new Set<string>()

/** Each answer has its own storage key, so that two tabs cannot overwrite each other's answers. */
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

/** Changes fields of an answer. Does nothing if it was withdrawn or sent meanwhile. */
export function changeAnswer(commandId: string, change: Partial<KeptAnswer>): void {
  const known = keptAnswers.get().find((one) => one.commandId === commandId)
  if (known && known.state !== 'sent') keepAnswer({ ...known, ...change })
}

export function forgetAnswer(commandId: string): void {
  drop(commandId)
  keptAnswers.set((all) => without(all, commandId))
}

/** The page remembers that a request is answered until the log shows it. */
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

/** The answer that was given in this browser and that the log does not show yet. */
export function useAnswerTo(requestId: string): KeptAnswer | undefined {
  return useStore(keptAnswers, (all) => all.findLast((one) => one.requestId === requestId))
}

export function useKeptAnswers(): readonly KeptAnswer[] {
  return useStore(keptAnswers)
}

/** Whether this tab is sending an answer. Answers of other tabs do not count: the server accepts the first. */
export function useIsAnswering(requestId: string): boolean {
  return useStore(keptAnswers, (all) => all.some((one) => one.requestId === requestId && one.tab === tab))
}

/** Splits requests into those that need an answer and those whose answer waits to be sent. */
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
