/** What only the open session itself can begin, for whoever asks for it by name. */
export type SessionDoings = { readonly find: () => void; readonly rename: () => void }

let here: SessionDoings | undefined

export function offerDoings(doings: SessionDoings): () => void {
  here = doings
  return () => {
    if (here === doings) here = undefined
  }
}

export const sessionDoings = () => here
