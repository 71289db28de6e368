import { ParleyError } from '@parley/protocol'

export type SlotHolder = {
  /** The time of the last use of the connection; undefined while it is in use. */
  idleSince(): number | undefined
  /** Closes the connection, which releases the slot. */
  yieldSlot(): void
}

export type ConnectionSlots = {
  /**
   * Waits, first come first served, until a connection may be opened. Rejects with `cancelled` when `signal` aborts.
   */
  acquire(holder: SlotHolder, signal: AbortSignal): Promise<() => void>
  /**
   * Called when a holder has become idle. If another holder waits for a slot, an idle holder is asked to release its
   * slot.
   */
  becameIdle(): void
  readonly used: number
  /** True if a connection could be opened now without closing another. */
  readonly hasRoom: boolean
}

type Slot = { readonly holder: SlotHolder; leaving: boolean }
type Waiting = { readonly holder: SlotHolder; give(release: () => void): void }

/**
 * Limits the number of live connections. At the limit, the connection that has been idle longest is closed for a new
 * connection. If all connections are busy, the new one waits.
 */
export function createConnectionSlots(max: number): ConnectionSlots {
  const slots = new Set<Slot>()
  const line = new Set<Waiting>()

  function take(holder: SlotHolder): () => void {
    const slot: Slot = { holder, leaving: false }
    slots.add(slot)
    return () => {
      if (slots.delete(slot)) serve()
    }
  }

  /** Gives free slots to the callers that wait, in order, before another caller can acquire them. */
  function serve(): void {
    for (const first of line) {
      if (slots.size >= max) return
      line.delete(first)
      first.give(take(first.holder))
    }
  }

  /** Asks idle holders, the longest idle first, to release as many slots as are still needed. */
  function makeRoom(): void {
    const leaving = [...slots].filter((slot) => slot.leaving).length
    const needed = line.size - leaving - Math.max(0, max - slots.size)
    const idle = [...slots]
      .filter((slot) => !slot.leaving && slot.holder.idleSince() !== undefined)
      .toSorted((a, b) => (a.holder.idleSince() ?? 0) - (b.holder.idleSince() ?? 0))
    for (const slot of idle.slice(0, Math.max(0, needed))) {
      slot.leaving = true
      slot.holder.yieldSlot()
    }
  }

  return {
    get used() {
      return slots.size
    },
    get hasRoom() {
      return slots.size < max && line.size === 0
    },
    becameIdle: makeRoom,
    acquire(holder, signal) {
      if (signal.aborted) return Promise.reject(cancelledWait())
      if (this.hasRoom) return Promise.resolve(take(holder))
      return new Promise((resolve, reject) => {
        const leave = () => {
          line.delete(waiting)
          reject(cancelledWait())
        }
        const waiting: Waiting = {
          holder,
          give(release) {
            signal.removeEventListener('abort', leave)
            resolve(release)
          },
        }
        signal.addEventListener('abort', leave, { once: true })
        line.add(waiting)
        makeRoom()
      })
    },
  }
}

function cancelledWait(): ParleyError {
  return new ParleyError('cancelled', 'Cancelled while the session waited for a free connection.')
}
