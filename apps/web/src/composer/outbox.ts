import { type Delivery, newId, type PromptPart } from '@parley/protocol'
import { client } from '../page/client.ts'
import { createKeptStore } from '../page/kept-store.ts'
import { useStore } from '../page/store.ts'
import { toastError } from '../page/toasts.tsx'
import { restoreDraft } from './draft.ts'

/** A prompt on its way. Kept in the browser until the server has it: a reload or a lost connection loses nothing. */
export type Outgoing = {
  readonly commandId: string
  readonly sessionId: string
  readonly parts: readonly PromptPart[]
  readonly delivery: Delivery
}

const outbox = createKeptStore<{ readonly prompts: readonly Outgoing[] }>('outbox', { prompts: [] })
const leftBehind = outbox.get().prompts
const ours = new Map<string, AbortController>()

/** What an earlier page may have sent is sent again under its id: it takes effect once. */
export function sendLeftBehind(): void {
  for (const outgoing of leftBehind) void deliver(outgoing)
}

export function submit(input: Omit<Outgoing, 'commandId'>): void {
  const outgoing = { ...input, commandId: newId('cmd') }
  outbox.set(({ prompts }) => ({ prompts: [...prompts, outgoing] }))
  void deliver(outgoing)
}

export function takeBack({ commandId }: Outgoing): void {
  ours.get(commandId)?.abort()
  remove(commandId)
}

export function useOutgoing(sessionId: string): readonly Outgoing[] {
  return useStore(outbox).prompts.filter((outgoing) => outgoing.sessionId === sessionId)
}

async function deliver({ commandId, sessionId, parts, delivery }: Outgoing): Promise<void> {
  const controller = new AbortController()
  ours.set(commandId, controller)
  try {
    const { signal } = controller
    await client.prompt(sessionId, [...parts], { delivery, commandId, signal })
  } catch (thrown) {
    if (controller.signal.aborted) return
    toastError(thrown)
    restoreDraft(sessionId, parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n'))
  } finally {
    ours.delete(commandId)
    remove(commandId)
  }
}

function remove(commandId: string): void {
  outbox.set(({ prompts }) => ({ prompts: prompts.filter((other) => other.commandId !== commandId) }))
}
