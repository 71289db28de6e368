import { type ErrorCode, newId, type OpenRequest, ParleyError } from '@parley/protocol'
import { client } from '../base/client.ts'
import { problemWords } from '../base/error-text.logic.ts'
import { go } from '../base/route.ts'
import { type Answering, answerWords, requestWords, settledWords } from '../call/answer-text.logic.ts'
import { announce } from '../parts/announcer.tsx'
import { toast } from '../parts/toasts.tsx'
import { waiting } from '../session-data/waiting-list.ts'
import { forgetDraft } from './answer-draft.ts'
import {
  changeAnswer,
  forgetAnswer,
  type KeptAnswer,
  keepAnswer,
  keptAnswers,
  rememberSent,
  tab,
} from './kept-answers.ts'

/** An answer that is accepted sooner is never shown as waiting. */
const lateMs = 700
/** How long after another tab releases its lock this page waits for the storage event of that tab. */
const otherTabMs = 1500
/** Without the Web Locks API, an answer of another tab counts as abandoned after this time. */
const withoutLocksMs = 60_000

/** The answers that this page is sending. */
const ours = new Map<string, AbortController>()
const watched = new Set<string>()
/** Dismisses the toast of each held answer. */
const heldNotes = new Map<string, () => void>()

/** Sends an answer until the server has it, always under the same command id: it takes effect once, or is refused. */
export function sendAnswer(sessionId: string, request: OpenRequest, answer: Answering): void {
  const { requestId } = request
  if (keptAnswers.get().some((one) => one.requestId === requestId && one.tab === tab)) return
  const commandId = newId('cmd')
  const [asked, said] = [requestWords(request), answerWords(request, answer)]
  const state = 'sending' as const
  const kept = { commandId, sessionId, requestId, answer, asked, said, tab, state, waited: false }
  keepAnswer(kept)
  void deliver(kept)
}

/** Withdraws an answer. If the server has it already, it stands, and the session shows it after the reconnect. */
export function takeBackAnswer({ commandId }: KeptAnswer): void {
  heldNotes.get(commandId)?.()
  ours.get(commandId)?.abort()
  forgetAnswer(commandId)
}

export function sendHeldAnswer(answer: KeptAnswer): void {
  const { problem, ...rest } = answer
  heldNotes.get(answer.commandId)?.()
  const again = { ...rest, tab, state: 'late' as const, waited: true }
  keepAnswer(again)
  void deliver(again)
}

/**
 * Resumes sending the answers that this tab gave before a reload. An answer of a closed tab is held instead: much may
 * have happened since, so the person must confirm it.
 */
export function watchAnswers(): void {
  const look = () => {
    for (const one of keptAnswers.get()) {
      const { commandId, state } = one
      if (state === 'held' || state === 'sent' || ours.has(commandId) || watched.has(commandId)) continue
      if (one.tab === tab) void deliver(one)
      else void holdWhenAbandoned(commandId)
    }
    // Withdrawn in another tab.
    for (const [commandId, sending] of ours) {
      if (!keptAnswers.get().some((one) => one.commandId === commandId)) sending.abort()
    }
  }
  keptAnswers.subscribe(look)
  waiting.subscribe(forgetSettled)
  look()
}

async function holdWhenAbandoned(commandId: string): Promise<void> {
  watched.add(commandId)
  const abandoned = await whenAbandoned(commandId)
  watched.delete(commandId)
  if (!abandoned) return
  hold(commandId, 'The tab was closed too early.')
  forgetSettled()
  if (!keptAnswers.get().some((one) => one.commandId === commandId)) return
  const text = `“${abandoned.said}” was not sent: the tab was closed too early.`
  heldNotes.set(
    commandId,
    tell(text, () => go({ name: 'inbox' })),
  )
}

/**
 * Resolves with the answer once no tab sends it, or with undefined if it was settled. This page may learn of an answer
 * before its tab takes the lock, and a reloaded tab takes the lock again: the lock must still be free after a while.
 */
async function whenAbandoned(commandId: string): Promise<KeptAnswer | undefined> {
  for (;;) {
    await exclusively(commandId, async () => {})
    await new Promise((resolve) => setTimeout(resolve, navigator.locks ? otherTabMs : withoutLocksMs))
    const isSent = await isBeingSent(commandId)
    const left = keptAnswers.get().find((one) => one.commandId === commandId)
    if (!left || left.state === 'held' || left.tab === tab) return undefined
    if (!isSent) return left
  }
}

async function deliver(kept: KeptAnswer): Promise<void> {
  const { commandId, sessionId, answer, said } = kept
  if (ours.has(commandId)) return
  const controller = new AbortController()
  const { signal } = controller
  ours.set(commandId, controller)
  const late = setTimeout(() => {
    changeAnswer(commandId, { state: 'late', waited: true })
    announce(`Not sent yet: ${said}`)
  }, lateMs)
  try {
    await exclusively(commandId, async () => {
      await client.command(sessionId, answer, { commandId, signal })
      rememberSent(commandId)
      forgetDraft(answer.requestId)
    })
  } catch (thrown) {
    if (!signal.aborted) refused(kept, thrown)
  } finally {
    clearTimeout(late)
    ours.delete(commandId)
  }
}

const neverTaken: readonly ErrorCode[] = ['validation_error', 'not_supported', 'too_large', 'forbidden']

/** An answer that can never be accepted is removed with a toast. One that cannot be accepted now is held. */
function refused({ commandId, said, asked, sessionId }: KeptAnswer, thrown: unknown): void {
  const code = thrown instanceof ParleyError ? thrown.code : undefined
  const show = () => go({ name: 'session', id: sessionId })
  if (code === 'conflict' || code === 'not_found') {
    const outcome = thrown instanceof ParleyError ? thrown.details?.outcome : undefined
    forgetAnswer(commandId)
    tell(`Your answer to “${asked}” (${said}) was not used: ${settledWords(outcome)}.`, show)
  } else if (code !== undefined && neverTaken.includes(code)) {
    forgetAnswer(commandId)
    tell(`Your answer to “${asked}” (${said}) was not taken. ${problemWords(thrown)}`, show)
  } else hold(commandId, problemWords(thrown))
}

function hold(commandId: string, problem: string): void {
  changeAnswer(commandId, { state: 'held', waited: true, problem })
}

/** Removes held answers whose requests are not open any more. */
function forgetSettled(): void {
  const { status, requests } = waiting.getSnapshot()
  if (status !== 'live') return
  const open = new Set(requests.map(({ request }) => request.requestId))
  for (const { commandId, requestId, state, asked, said, sessionId } of keptAnswers.get()) {
    if (state !== 'held' || open.has(requestId) || ours.has(commandId)) continue
    forgetAnswer(commandId)
    heldNotes.get(commandId)?.()
    const text = `Your answer to “${asked}” (${said}) was not sent, and the request is no longer open.`
    tell(text, () => go({ name: 'session', id: sessionId }))
  }
}

/** Shows a toast until it is dismissed: nobody may believe that something was allowed when it was not. */
function tell(text: string, show: () => void): () => void {
  return toast(text, { ms: Number.POSITIVE_INFINITY, action: { label: 'Show', run: show } })
}

/** Whether another tab holds the lock. Always false without the Web Locks API. */
async function isBeingSent(commandId: string): Promise<boolean> {
  if (!navigator.locks) return false
  return navigator.locks.request(lockOf(commandId), { ifAvailable: true }, (lock) => lock === null)
}

function lockOf(commandId: string): string {
  return `parley-answer-${commandId}`
}

/** Runs `work` in one tab at a time. Without the Web Locks API it runs at once. */
async function exclusively(commandId: string, work: () => Promise<void>): Promise<void> {
  if (!navigator.locks) return work()
  await navigator.locks.request(lockOf(commandId), work)
}
