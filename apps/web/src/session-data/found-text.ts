import type { SearchHit } from '@parley/protocol'
import type { Route } from '../base/route.logic.ts'

/** The word that a search found, to be marked in the conversation. */
export type FoundWord = {
  readonly word: string
  /** The word is in the result of a call, not in the call. */
  readonly inResult: boolean
}

let opened: { readonly hit: SearchHit; readonly found: FoundWord | undefined } | undefined

/** The address of a hit: its session, at its event. */
export function routeOfHit({ session, seq }: SearchHit): Route {
  return { name: 'session', id: session.id, seq }
}

/** Must be called before the address of a hit is opened, so that the word is marked. */
export function rememberHit(hit: SearchHit): void {
  const [mark] = hit.marks
  opened = { hit, found: mark && { word: hit.text.slice(...mark), inResult: hit.kind === 'output' } }
}

/** The found word of the event, if the event was opened from a search hit. */
export function foundIn(sessionId: string, seq: number): FoundWord | undefined {
  return opened?.hit.session.id === sessionId && opened.hit.seq === seq ? opened.found : undefined
}
