/** The point up to which the work of a session is handed over. Without fields: the end of the session. */
export type HandOffPoint = {
  readonly before?: string
  readonly upTo?: number
  /** The suggested first prompt. */
  readonly prompt?: string
}

/** Actions that only the page of the open session can perform, for use by the command palette and by its rows. */
type SessionActions = {
  readonly find: () => void
  readonly rename: () => void
  readonly handOff: (point: HandOffPoint) => void
}

let here: SessionActions | undefined

export function registerSessionActions(actions: SessionActions): () => void {
  here = actions
  return () => {
    if (here === actions) here = undefined
  }
}

export const sessionActions = () => here
