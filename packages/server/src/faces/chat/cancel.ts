import type { Host } from '../../core/index.ts'

type Cancelled = { readonly turnId: string; readonly commandId: string; readonly pauseQueue: boolean }

/** Cancels a turn. Does nothing if the turn has ended meanwhile. */
export async function cancel(host: Host, id: string, cancelled: Cancelled): Promise<void> {
  const { turnId } = cancelled
  try {
    await host.command(id, { type: 'turn.cancel', ...cancelled })
  } catch (error) {
    const { turn } = await host.state(id)
    if (turn?.turnId === turnId) throw error
  }
}
