import { ParleyError } from '@parley/protocol'

/** Someone who holds a slot and may be asked to give it up. */
export type SlotHolder = {
  /** When it was last of use, or undefined while it is in use. */
  idleSince(): number | undefined
  /** Closes the connection; the slot is released on the way. */
  yieldSlot(): void
}

export type ConnectionSlots = {
  /** Waits, first come first served, until a connection may be opened. Rejects with `cancelled` when `signal` aborts. */
  acquire(holder: SlotHolder, signal: AbortSignal): Promise<() => void>
  /** A holder has become idle: if someone waits, it will be asked to give way. */
  becameIdle(): void
  readonly used: number
}

/** Bounds the number of live connections: whoever idles longest gives way, the others are waited for. */
export function createConnectionSlots(max: number): ConnectionSlots {
  const holders = new Set<SlotHolder>()
  const waiting = new Set<() => void>()

  function wakeNext() {
    const [next] = waiting
    if (!next) return
    waiting.delete(next)
    next()
  }

  function grant(holder: SlotHolder): () => void {
    const slot = { idleSince: () => holder.idleSince(), yieldSlot: () => holder.yieldSlot() }
    holders.add(slot)
    return () => {
      if (holders.delete(slot)) wakeNext()
    }
  }

  function askIdlest() {
    let idlest: SlotHolder | undefined
    let least = Number.POSITIVE_INFINITY
    for (const holder of holders) {
      const since = holder.idleSince()
      if (since !== undefined && since < least) {
        idlest = holder
        least = since
      }
    }
    idlest?.yieldSlot()
  }

  function turnInLine(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const leave = () => {
        waiting.delete(leave)
        signal.removeEventListener('abort', leave)
        resolve()
      }
      waiting.add(leave)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  return {
    becameIdle: wakeNext,
    get used() {
      return holders.size
    },
    async acquire(holder, signal) {
      while (holders.size >= max) {
        if (signal.aborted) break
        askIdlest()
        if (holders.size < max) break
        await turnInLine(signal)
      }
      if (signal.aborted) {
        wakeNext()
        throw new ParleyError('cancelled', 'Cancelled while it waited for a free connection.')
      }
      return grant(holder)
    },
  }
}
