import { createPersistedStore } from '../base/persisted-store.ts'
import { useStore } from '../base/store.ts'
import type { Edits } from './input-form.logic.ts'
import type { Filled } from './question-form.logic.ts'

/** An unsent answer. It is restored when the person returns to the card, even after a reload. */
export type AnswerDraft = {
  readonly filled?: Filled
  readonly reason?: string
  readonly edits?: Edits
}

const maxDrafts = 50
const noAnswer: AnswerDraft = {}
const drafts = createPersistedStore<Readonly<Record<string, AnswerDraft>>>('answer-drafts', {})

export function useAnswerDraft(requestId: string): [AnswerDraft, (change: AnswerDraft) => void] {
  const draft = useStore(drafts, (all) => all[requestId] ?? noAnswer)
  const change = (part: AnswerDraft) =>
    drafts.set(({ [requestId]: before, ...others }) => {
      const newest = Object.entries(others).slice(1 - maxDrafts)
      return { ...Object.fromEntries(newest), [requestId]: { ...before, ...part } }
    })
  return [draft, change]
}

export function removeAnswerDraft(requestId: string): void {
  drafts.set(({ [requestId]: _, ...others }) => others)
}
