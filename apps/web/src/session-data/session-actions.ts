/** Actions that only the page of the open session can perform, for use by the command palette. */
type SessionActions = { readonly find: () => void; readonly rename: () => void }

let here: SessionActions | undefined

export function registerSessionActions(actions: SessionActions): () => void {
  here = actions
  return () => {
    if (here === actions) here = undefined
  }
}

export const sessionActions = () => here
