import { systemClock } from '@parley/client'
import { browserLocks, browserStorage, tabId } from '../base/browser-storage.ts'
import { client } from '../base/client.ts'
import { currentRoute } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { toastError } from '../parts/toasts.tsx'
import { cachedParts, cacheParts } from './cache.ts'
import { createPromptDrafts } from './prompt-draft.ts'
import { type OutgoingPrompt, PromptOutbox } from './prompt-outbox.ts'

/** The parts of the browser that the outboxes of this tab use. */
export const browser = { storage: browserStorage, locks: browserLocks, clock: systemClock, tab: tabId }

const attachments = { read: cachedParts, write: cacheParts }

export const draftOf = createPromptDrafts({ ...browser, attachments })

export const prompts = new PromptOutbox({
  ...browser,
  attachments,
  draftOf,
  send({ commandId, sessionId, delivery, followers, paused }, parts, signal) {
    const place = delivery === 'queue' && { before: followers, ...(paused && { paused }) }
    return client.prompt(sessionId, [...parts], { delivery, commandId, signal, ...place })
  },
  onRefused(sessionId, error) {
    const route = currentRoute()
    if (route.name !== 'session' || route.id !== sessionId) toastError(error)
  },
})

export function startPrompts(): void {
  prompts.start()
  client.closing.addEventListener('abort', () => prompts.stop())
}

export function useOutgoingPrompts(sessionId: string): readonly OutgoingPrompt[] {
  return useStore(prompts).filter((prompt) => prompt.sessionId === sessionId)
}
