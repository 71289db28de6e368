import { createKeptStore } from '../page/kept-store.ts'
import { useStore } from '../page/store.ts'
import type { Edits } from './input-form.logic.ts'
import type { Filled } from './question-form.logic.ts'

/** What was begun of an answer and is not given: it is there again for whoever comes back, also after a reload. */
export type AnswerDraft = {
  readonly filled?: Filled
  /** Why not. */
  readonly reason?: string
  /** What would run instead. */
  readonly edits?: Edits
}

const mostKept = 50
const nothing: AnswerDraft = {}
const drafts = createKeptStore<Readonly<Record<string, AnswerDraft>>>('answer-drafts', {})

export function useAnswerDraft(requestId: string): [AnswerDraft, (change: AnswerDraft) => void] {
  const draft = useStore(drafts, (all) => all[requestId] ?? nothing)
  const change = (part: AnswerDraft) =>
    drafts.set(({ [requestId]: before, ...others }) => {
      const kept = Object.entries(others).slice(1 - mostKept)
      return { ...Object.fromEntries(kept), [requestId]: { ...before, ...part } }
    })
  return [draft, change]
}

export function forgetDraft(requestId: string): void {
  drafts.set(({ [requestId]: _, ...others }) => others)
}
