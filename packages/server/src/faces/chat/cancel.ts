import type { Host } from '../../core/host.ts'

/** Cancels a turn. One that is over meanwhile needs no cancelling. */
export async function cancel(host: Host, id: string, turnId: string, commandId: string): Promise<void> {
  try {
    await host.command(id, { type: 'turn.cancel', commandId, turnId })
  } catch (error) {
    const { turn } = await host.state(id)
    if (turn?.turnId === turnId) throw error
  }
}
