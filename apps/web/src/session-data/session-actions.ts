/** Actions that only the page of the open session can perform, for use by the command palette. */
export type SessionDoings = { readonly find: () => void; readonly rename: () => void }

let here: SessionDoings | undefined

export function offerDoings(doings: SessionDoings): () => void {
  here = doings
  return () => {
    if (here === doings) here = undefined
  }
}

export const sessionDoings = () => here
