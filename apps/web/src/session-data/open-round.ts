import type { Round } from '@parley/protocol'

/** The round that is shown, and what only its page can do, for the command palette. */
type OpenRound = { readonly round: Round; readonly onPick: (attempt: number) => void }

let here: OpenRound | undefined

export function registerRound(shown: OpenRound): () => void {
  here = shown
  return () => {
    if (here === shown) here = undefined
  }
}

export const openRound = () => here
