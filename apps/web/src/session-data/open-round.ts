import type { Round } from '@parley/protocol'

/** The shown round, and the actions that only its page can perform, for the command palette. */
type OpenRound = { readonly round: Round; readonly onPick: (attempt: number) => void }

let here: OpenRound | undefined

export function registerRound(shown: OpenRound): () => void {
  here = shown
  return () => {
    if (here === shown) here = undefined
  }
}

export const openRound = () => here
