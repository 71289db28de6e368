import type { Actor, CommandInput, Receipt } from '@parley/protocol'

/** Sends a command to a session, which another process may own. */
export type CommandAnywhere = (sessionId: string, command: CommandInput, by?: Actor) => Promise<Receipt>
