/** Named gates at which scripts wait, so that tests wait for conditions, not for time. An open gate remains open. */
export type Gates = {
  open(name: string): void
  /** Resolves when a script has reached the gate. */
  reached(name: string): Promise<void>
  /** For the player: resolves when the gate is open or `signal` aborts. */
  pass(name: string, signal: AbortSignal): Promise<void>
}

export function createGates(): Gates {
  const opened = createFacts()
  const arrived = createFacts()
  return {
    open: opened.state,
    reached: arrived.known,
    pass(name, signal) {
      arrived.state(name)
      return Promise.race([opened.known(name), aborted(signal)])
    },
  }
}

/** Named conditions that become true and then stay true. */
function createFacts() {
  const facts = new Map<string, PromiseWithResolvers<void>>()
  const fact = (name: string) => {
    const known = facts.get(name) ?? Promise.withResolvers<void>()
    facts.set(name, known)
    return known
  }
  return {
    state: (name: string): void => fact(name).resolve(),
    known: (name: string): Promise<void> => fact(name).promise,
  }
}

const abortions = new WeakMap<AbortSignal, Promise<void>>()

/** Resolves when `signal` aborts. Adds one listener per signal, however often it is called. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  const known = abortions.get(signal)
  if (known) return known
  const abortion = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  abortions.set(signal, abortion)
  return abortion
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

export const realSleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
