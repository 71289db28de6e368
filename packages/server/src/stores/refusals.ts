import { ParleyError } from '@parley/protocol'
import type { AppendBatch } from '../core/session-store.ts'

export function refuseGap(batch: AppendBatch, head: number): void {
  let last = head
  for (const { seq } of batch.events) {
    if (seq !== last + 1) {
      throw new ParleyError(
        'conflict',
        `Event ${seq} cannot follow event ${last} of session ${batch.sessionId}; no event of the batch was written.`,
        { details: { head, seq } },
      )
    }
    last = seq
  }
}

export function sessionTaken(sessionId: string): ParleyError {
  return new ParleyError('conflict', `Session ${sessionId} already exists.`)
}

export function sessionUnknown(sessionId: string): ParleyError {
  return new ParleyError('not_found', `There is no session ${sessionId}.`)
}

export function receiptTaken(commandId: string): ParleyError {
  return new ParleyError('conflict', `Command ${commandId} already has a receipt.`, {
    details: { commandId },
  })
}

/** The error for a write whose term is no longer the current one. */
export function ownershipLost(sessionId: string, term: number): ParleyError {
  return new ParleyError(
    'conflict',
    `Session ${sessionId} belongs to another node now; none of the batch was written.`,
    { details: { staleTerm: term } },
  )
}

/** The error for a write after the database has lost events that this process has written. */
export function eventsLost(sessionId: string, term: number): ParleyError {
  return new ParleyError(
    'conflict',
    `The database has lost the last events of session ${sessionId}; none of the batch was written.`,
    { details: { staleTerm: term } },
  )
}
