import { type Delivery, newId, type PromptPart } from '@parley/protocol'
import { client } from '../base/client.ts'
import { problemWords } from '../base/error-text.logic.ts'
import { createKeptStore } from '../base/kept-store.ts'
import { currentRoute } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { toastError } from '../parts/toasts.tsx'
import { cachedParts, cacheParts } from '../session-data/cache.ts'
import { putBack, type QueuePlace, refusalOf } from './draft.ts'

/**
 * A prompt in the outbox. It is kept in the browser until the server has it, so a reload or a lost connection loses
 * nothing. Attachments may be large and are kept in IndexedDB.
 */
export type Outgoing = {
  readonly commandId: string
  readonly sessionId: string
  readonly words: readonly PromptPart[]
  readonly along: number
  readonly delivery: Delivery
  /** The queued prompts it is inserted before, as far as they still wait. */
  readonly followers?: readonly string[]
  /** It returns to the paused prompts. */
  readonly paused?: boolean
}

type Input = Pick<Outgoing, 'sessionId' | 'delivery' | 'followers' | 'paused'> & {
  readonly parts: readonly PromptPart[]
}

const outbox = createKeptStore<{ readonly prompts: readonly Outgoing[] }>('outbox', { prompts: [] })
const ours = new Map<string, AbortController>()
const isOnItsWay = (commandId: string) =>
  outbox.get().prompts.some((outgoing) => outgoing.commandId === commandId)

/** Sends the prompts of an earlier page again under the same command ids, so each takes effect once. */
export function sendLeftBehind(): void {
  // Prompts stored in an older shape cannot be read and would stay for ever.
  outbox.set(({ prompts }) => ({ prompts: prompts.filter(({ words }) => Array.isArray(words)) }))
  for (const outgoing of outbox.get().prompts) void deliverAgain(outgoing)
  // A prompt that left the outbox was withdrawn in another tab, or the server has it.
  outbox.subscribe(() => {
    for (const [commandId, sending] of ours) if (!isOnItsWay(commandId)) sending.abort()
  })
}

export function submit({ sessionId, delivery, parts, followers = [], paused = false }: Input): void {
  const commandId = newId('cmd')
  const words = parts.filter(({ type }) => type === 'text')
  const along = parts.filter(({ type }) => type !== 'text')
  if (along.length > 0) cacheParts(commandId, along)
  const outgoing = { commandId, sessionId, delivery, words, along: along.length, followers, paused }
  outbox.set(({ prompts }) => ({ prompts: [...prompts, outgoing] }))
  refusalOf(sessionId).set(undefined)
  void deliver(outgoing, parts)
}

/** A prompt whose attachments were lost is not sent: it returns to the composer. */
async function deliverAgain(outgoing: Outgoing): Promise<void> {
  const along = outgoing.along === 0 ? [] : await cachedParts(outgoing.commandId)
  const parts = [...outgoing.words, ...along]
  // Meanwhile another tab may have sent it, or the person may have withdrawn it.
  if (!isOnItsWay(outgoing.commandId)) return
  if (along.length === outgoing.along) return deliver(outgoing, parts)
  remove(outgoing.commandId)
  putBack(outgoing.sessionId, parts, placeIn(outgoing))
  refusalOf(outgoing.sessionId).set(
    'The attachments were not kept in this browser. Check whether they arrived, or attach them again.',
  )
}

export function takeBack({ commandId }: Outgoing): void {
  ours.get(commandId)?.abort()
  remove(commandId)
}

export function useOutgoing(sessionId: string): readonly Outgoing[] {
  return useStore(outbox).prompts.filter((outgoing) => outgoing.sessionId === sessionId)
}

function placeIn({ followers = [], paused = false }: Outgoing): QueuePlace {
  return { followers, paused }
}

async function deliver(outgoing: Outgoing, parts: readonly PromptPart[]): Promise<void> {
  const { commandId, sessionId, delivery } = outgoing
  const { followers, paused } = placeIn(outgoing)
  const controller = new AbortController()
  ours.set(commandId, controller)
  try {
    const { signal } = controller
    const place = delivery === 'queue' && { before: followers, ...(paused && { paused }) }
    await client.prompt(sessionId, [...parts], { delivery, commandId, signal, ...place })
  } catch (thrown) {
    if (controller.signal.aborted) return
    putBack(sessionId, parts, { followers, paused })
    refusalOf(sessionId).set(problemWords(thrown))
    const route = currentRoute()
    if (route.name !== 'session' || route.id !== sessionId) toastError(thrown)
  } finally {
    ours.delete(commandId)
    remove(commandId)
  }
}

function remove(commandId: string): void {
  cacheParts(commandId, [])
  outbox.set(({ prompts }) => ({ prompts: prompts.filter((other) => other.commandId !== commandId) }))
}
